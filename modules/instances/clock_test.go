package instances_test

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// wrongClock is the clock of a machine with a wrong time.
type wrongClock struct {
	clock.RealClock
	by time.Duration
}

func (c wrongClock) Now() time.Time                   { return c.RealClock.Now().Add(c.by) }
func (c wrongClock) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// The API's times come from another clock: an age is the time for which this process has
// seen something.
func TestAgesAreMeasuredOnOneClock(t *testing.T) {
	for _, by := range []time.Duration{15 * time.Minute, -15 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
				p := l.start(instances.Config{Clock: wrongClock{by: by}, OrphanTTL: 3 * time.Minute})
				i := p.create(t, spec("a", "1"))
				if i.Health == claims.Stopped {
					t.Error("a new instance counts as one that does not boot")
				}
				for _, want := range []int{0, 0, 1} {
					collected, err := p.Collect(t.Context(), nothingAlive())
					if err != nil || len(collected.Removed) != want {
						t.Errorf("collected %v, %v, want %d", collected.Removed, err, want)
					}
					time.Sleep(100 * time.Second)
				}
			})
		})
	}
}
