package launches_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// givenUp lets a launch of a NodePool be given up.
func givenUp(m *launches.Memory, nodePool string) launches.Verdict {
	return m.Failed(launches.Launch{Plan: "small", NodePool: nodePool, Attempt: launches.Attempt{Number: 4}},
		&claims.Error{Kind: claims.KindConflict})
}

func neverJoined(m *launches.Memory, n int, t launches.Target) {
	m.NeverJoined(types.UID(fmt.Sprint(t, n)), t)
}

func TestAPauseConcernsItsPlanOrTheWholeNodePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := launches.New(launches.Config{})
		for n := range 2 {
			neverJoined(b, n, launches.Target{NodePool: "a", Plan: "small"})
			givenUp(b, "b")
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
		b := launches.New(launches.Config{})
		before := time.Now()
		time.Sleep(time.Second)
		neverJoined(b, 1, launches.Target{NodePool: "a", Plan: "small"})
		givenUp(b, "a")
		b.Joined("a", "small", before)
		b.Joined("a", "large", before)
		if failures := b.Pauses("a"); len(failures) != 2 || failures[0].Plan != "" || failures[1].Plan != "small" || failures[1].InARow != 1 {
			t.Errorf("after a node that joined before: %+v", failures)
		}
		time.Sleep(time.Second)
		b.Joined("a", "large", time.Now())
		if failures := b.Pauses("a"); len(failures) != 1 || failures[0].Plan != "small" {
			t.Errorf("after a node of another plan: %+v", failures)
		}
		b.Joined("a", "small", time.Now())
		if failures := b.Pauses("a"); len(failures) != 0 {
			t.Errorf("after a node of the plan: %+v", failures)
		}
	})
}

var (
	soldOut = &claims.Error{Kind: claims.KindInsufficientCapacity}
	limit   = &claims.Error{Kind: claims.KindQuotaExceeded}
	refused = &claims.Error{Kind: claims.KindInvalid, Field: claims.FieldInstanceType}
)

func TestALongerRestIsNotShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := launches.New(launches.Config{}), launches.Launch{Plan: "small"}
		m.Failed(l, refused)
		m.Failed(l, soldOut)
		time.Sleep(10 * time.Minute)
		if _, is := m.Resting("small"); !is {
			t.Error("the plan is bought again too early")
		}
	})
}

// Twenty NodeClaims that are refused at the same time cause one report of a rest. Another cause, or a refusal after the end of the rest,
// is reported again.
func TestARestIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []launches.Cause
		m := launches.New(launches.Config{OnRest: func(plan string, cause launches.Cause) { told = append(told, cause) }})
		l := launches.Launch{Plan: "small", Larger: []string{"large", "larger"}}
		for range 20 {
			m.Failed(l, soldOut)
			time.Sleep(time.Second)
		}
		m.Failed(l, limit)
		v := m.Failed(l, limit)
		if _, is := m.Resting("larger"); !is || v.Event.Silence != 3*time.Minute {
			t.Errorf("a limit leaves larger plans, or is told for %s", v.Event.Silence)
		}
		time.Sleep(3 * time.Minute)
		m.Failed(l, limit)
		if want := []launches.Cause{launches.NoCapacity, launches.AccountLimit, launches.AccountLimit}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestRestsThatCannotBeAreNotTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Minute)
		for name, rest := range map[string]launches.Rest{
			"an end that its cause does not allow": {Plan: "small", Cause: launches.Ceiling, Ends: time.Now().Add(time.Hour)},
			"an end in the past":                   {Plan: "small", Cause: launches.NoCapacity, Ends: time.Now().Add(-time.Second)},
			"an unknown cause":                     {Plan: "small", Cause: "Weather", Ends: soon},
			"no plan":                              {Cause: launches.NoCapacity, Ends: soon},
		} {
			m := launches.New(launches.Config{})
			m.Import(launches.State{Rests: []launches.Rest{rest}})
			if cause, is := m.Resting(rest.Plan); is {
				t.Errorf("%s: %q", name, cause)
			}
		}
		m := launches.New(launches.Config{})
		m.Import(launches.State{Rests: []launches.Rest{{Plan: "small", Cause: launches.NoCapacity, Ends: soon}}})
		if cause, is := m.Resting("small"); !is || cause != launches.NoCapacity {
			t.Errorf("a rest that counts: %q", cause)
		}
		time.Sleep(time.Minute)
		if _, is := m.Resting("small"); is {
			t.Error("it does not end when it did before")
		}
	})
}

// Judge is a pure function: the same launch, error and time give the same verdict, and Judge remembers nothing.
func TestAVerdictIsAFunctionOfItsArguments(t *testing.T) {
	l := launches.Launch{Plan: "small", NodePool: "a", Attempt: launches.Attempt{Number: 4}}
	conflict := &claims.Error{Kind: claims.KindConflict}
	for inARow, pause := range []string{"0s", "1m0s", "1m0s"} {
		for range 2 {
			v := launches.Judge(conflict, l, time.Unix(0, 0), 0, pacing.Record{InARow: inARow})
			if want := "Launch given up; the next launch follows after " + pause; !v.GivenUp || !strings.HasPrefix(v.Event.Message, want) {
				t.Errorf("after %d in a row: %+v", inARow, v)
			}
		}
	}
}
