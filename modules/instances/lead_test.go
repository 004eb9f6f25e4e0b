package instances_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A process was a follower while another process led. When it is elected, it has forgotten its readings of that time, and a caller that
// was waiting goes on waiting.
func TestAnElectedProcessForgetsWhatItSawBefore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		leader, standby := l.start(instances.Config{}), l.start(instances.Config{})
		old := leader.create(t, spec("a", "1"))
		if list, err := standby.List(t.Context()); err != nil || len(list) != 1 {
			t.Fatalf("before: %v, %v", list, err)
		}
		if err := leader.Delete(t.Context(), old.InstanceID, spec("a", "1").Claimant); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		rule := l.sim.Fail(linodesim.Rule{Method: "GET", Hang: true})
		waiting := make(chan error, 1)
		go func() {
			_, err := standby.Create(within(t, 3*time.Minute), spec("b", "1"))
			waiting <- err
		}()
		time.Sleep(time.Second)
		standby.Begin(claims.Ended)
		l.sim.Heal(rule)
		if list, err := standby.List(t.Context()); err != nil ||
			slices.ContainsFunc(list, func(i instances.Instance) bool { return i.InstanceID == old.InstanceID }) {
			t.Errorf("after: %v, %v", list, err)
		}
		if err := <-waiting; err != nil {
			t.Errorf("the caller that waited: %v", err)
		}
		if again := standby.create(t, spec("a", "1")); again.InstanceID == old.InstanceID || l.created() != 3 {
			t.Errorf("got %d, %d made", again.InstanceID, l.created())
		}
	})
}

// Programs make one series for each action: Actions has all that are reported.
func TestActionsHasEveryActionThatIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Times: 1, Drop: true, AfterEffect: true})
		var mu sync.Mutex
		reported := map[string]bool{}
		p := l.start(instances.Config{Observer: claims.Observer{Action: func(end claims.ActionEnd) {
			mu.Lock()
			defer mu.Unlock()
			reported[end.Op] = true
		}}})
		i := p.create(t, withDisks())
		if err := p.Delete(t.Context(), i.InstanceID, withDisks().Claimant); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, action := range instances.Actions() {
			if !reported[action] {
				t.Errorf("%q is never reported", action)
			}
			delete(reported, action)
		}
		if len(reported) > 0 {
			t.Errorf("Actions lacks %v", reported)
		}
	})
}
