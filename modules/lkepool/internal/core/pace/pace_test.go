package pace_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/pace"
)

// Where a look is a list, late nodes are looked for after a tenth of the
// time that has passed: an eighth alone would use up most of what a burst may take longer than
// the platform itself.
func TestLateNodesAreLookedForAfterATenthOfTheTime(t *testing.T) {
	began := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	var looks pace.Pace
	looks.Next(began, 100, 2*time.Second)
	looks.Next(began.Add(40*time.Second), 60, 2*time.Second)
	looks.Next(began.Add(60*time.Second), 20, 2*time.Second)
	if pause := looks.Next(began.Add(64*time.Second), 20, 2*time.Second); pause != 6400*time.Millisecond {
		t.Errorf("the pause is %s", pause)
	}
}
