package whatif

import (
	"strings"
	"testing"
)

func TestTheRangeOfManyPodsComesFromFewerOrdersAndSaysSo(t *testing.T) {
	all, note := tried(manyPods)
	if len(all) != len(arrivals) || note != "" {
		t.Errorf("%d pods: %v, %q", manyPods, all, note)
	}
	some, note := tried(manyPods + 1)
	if some[0] != asPlanned || len(some) >= len(all) || !strings.Contains(note, "from 3 orders of arrival and not from 6") {
		t.Errorf("%d pods: %v, %q", manyPods+1, some, note)
	}
}
