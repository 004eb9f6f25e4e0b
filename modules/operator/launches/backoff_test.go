package launches_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

var pauses = []time.Duration{0, time.Minute}

func TestAPauseConcernsItsPlanOrTheWholeNodePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := launches.NewBackoff()
		for range 2 {
			b.Failed(launches.Target{NodePool: "a", Plan: "small"}, pauses)
			b.Failed(launches.Target{NodePool: "b"}, pauses)
		}
		for target, pausing := range map[launches.Target]bool{
			{NodePool: "a", Plan: "small"}: true, {NodePool: "a", Plan: "large"}: false,
			{NodePool: "b", Plan: "small"}: true, {NodePool: "c", Plan: "small"}: false,
		} {
			if b.Pausing(target.NodePool, target.Plan) != pausing {
				t.Errorf("%+v is pausing: %t", target, !pausing)
			}
		}
		time.Sleep(time.Minute)
		if b.Pausing("a", "small") || b.Pausing("b", "small") {
			t.Error("a pause does not end")
		}
	})
}

func TestFailuresAreForgottenWithANodeThatJoinsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := launches.NewBackoff()
		before := time.Now()
		time.Sleep(time.Second)
		b.Failed(launches.Target{NodePool: "a", Plan: "small"}, pauses)
		b.Failed(launches.Target{NodePool: "a"}, pauses)
		b.Joined("a", "small", before)
		b.Joined("a", "large", before)
		if failures := b.Failures("a"); len(failures) != 2 || failures[0].Plan != "" || failures[1].Plan != "small" || failures[1].InARow != 1 {
			t.Errorf("after a node that joined before: %+v", failures)
		}
		time.Sleep(time.Second)
		b.Joined("a", "large", time.Now())
		if failures := b.Failures("a"); len(failures) != 1 || failures[0].Plan != "small" {
			t.Errorf("after a node of another plan: %+v", failures)
		}
		b.Joined("a", "small", time.Now())
		if failures := b.Failures("a"); len(failures) != 0 {
			t.Errorf("after a node of the plan: %+v", failures)
		}
	})
}
