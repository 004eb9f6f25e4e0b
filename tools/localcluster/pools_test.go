package localcluster_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

func TestPoolsOfTheUser(t *testing.T) {
	pools, err := localcluster.ParsePools("g6-standard-2:2:1-4,g6-dedicated-4:1")
	want := []linodesim.PoolSpec{
		{Type: "g6-standard-2", Count: 2, Autoscaler: &api.LKEAutoscaler{Enabled: true, Min: 1, Max: 4}}, {Type: "g6-dedicated-4", Count: 1},
	}
	if err != nil || !reflect.DeepEqual(pools, want) {
		t.Errorf("%+v, %v", pools, err)
	}
	for text, words := range map[string]string{
		"g6-standard-2":         "write plan:nodes",
		"g6-standard-2:two":     "write plan:nodes",
		"g6-standard-2:2:4":     "write plan:nodes",
		"g6-standard-2:0":       "at least one node",
		"g6-standard-2:5:1-4":   "1 <= least <= nodes <= most",
		"g6-standard-2:1:0-4":   "1 <= least <= nodes <= most",
		"g6-standard-2:1:1-4;x": "write plan:nodes",
	} {
		if _, err := localcluster.ParsePools(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", text, err, words)
		}
	}
}
