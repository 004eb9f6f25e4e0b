package core_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/internal/core"
)

// lossy is a core none of whose writes is answered, so that each may land later.
type lossy struct {
	*core.Core
	now     time.Time
	claimed map[string][]string // Machines that a claim was sent for, by claimant
}

func (l *lossy) comes(token int, name string) {
	l.Handle(core.Arrived{Token: token, Ask: core.Ask{Kind: core.KindClaim, Request: clusterapi.Request{
		Claimant: claims.Claimant{Name: name}, Deployments: []string{"general"}}}}, l.now)
}

func (l *lossy) reads(e core.Read) {
	lost := errors.New("no answer")
	l.now = l.now.Add(time.Minute)
	for _, a := range l.Handle(e, l.now) {
		if a.Op != core.ActionWrite {
			continue
		}
		if a.Write.Op == clusterapi.OpClaim {
			l.claimed[a.Write.Value] = append(l.claimed[a.Write.Value], a.Write.Object)
		}
		l.Handle(core.Written{Write: a.Write, Err: lost}, l.now)
	}
}

func (l *lossy) sees(machines ...clusterapi.Machine) {
	l.reads(core.Read{World: clusterapi.World{Deployments: []clusterapi.Deployment{oneDeployment("general", "")}, Machines: machines}})
}

// A claim without an answer may land later. Its Machine is left to its claimant: if another claimant took this Machine, the first
// claimant could get this Machine and a second one.
func TestNoClaimantHasClaimsOfTwoMachinesUnderWay(t *testing.T) {
	l := &lossy{Core: core.New(clusterapi.Config{}.WithDefaults()), claimed: map[string][]string{}}
	first, second := freeMachine("general", "1"), freeMachine("general", "2")
	first.ProviderID = ""
	second.Name, second.UID = "n", "n"
	l.comes(1, "a")
	l.sees()
	l.sees(first)
	l.Handle(core.Left{Token: 1, Cause: errors.New("its deadline has passed")}, l.now)
	l.comes(2, "b")
	l.comes(3, "a")
	l.reads(core.Read{Err: errors.New("no answer")})
	l.sees(first)
	l.sees(first, second)
	want := map[string][]string{"a/": {"m", "m", "m"}, "b/": {"n"}}
	for claimant, machines := range l.claimed {
		if !slices.Equal(machines, want[claimant]) {
			t.Errorf("claims of %q were sent for %v, want %v", claimant, machines, want[claimant])
		}
	}
	if len(l.claimed) != len(want) {
		t.Errorf("claims were sent for %v", l.claimed)
	}
}

// A count that the controllers have not acted on is not lowered. Another client has raised it from 3 to 4. The MachineDeployment's
// controller may be about to give the current MachineSet a third Machine: with 3 replicas it would then remove the Machine of the older
// set, which is claimed.
func TestACountIsNotLoweredBeforeAnEarlierOneWasActedOn(t *testing.T) {
	for name, c := range map[string]struct {
		observed bool
		want     []clusterapi.Op
	}{
		"not acted on": {false, nil},
		"acted on":     {true, []clusterapi.Op{clusterapi.OpPause}},
	} {
		t.Run(name, func(t *testing.T) {
			machine := func(name, set string, is clusterapi.Machine) clusterapi.Machine {
				is.Name, is.UID, is.ResourceVersion, is.Deployment, is.Set, is.ProviderID = name, name, "1", "general", set, "linode://"+name
				return is
			}
			released := clusterapi.Machine{Claim: claims.Claimant{Name: "b"}, Released: true}
			world := clusterapi.World{
				Deployments: []clusterapi.Deployment{{Name: "general", UID: "general", ResourceVersion: "1", Replicas: 4, Observed: c.observed,
					Sets: []clusterapi.Set{{Name: "older", Replicas: 1, Observed: true},
						{Name: "current", Replicas: 3, Observed: true, Current: true, Created: time.Unix(1, 0)}}}},
				Machines: []clusterapi.Machine{machine("1", "older", clusterapi.Machine{Claim: claims.Claimant{Name: "a"}}),
					machine("2", "current", clusterapi.Machine{Claim: claims.Claimant{Name: "c"}}), machine("3", "current", released),
					machine("4", "current", clusterapi.Machine{Claim: claims.Claimant{Name: "d"}})},
			}
			if !c.observed {
				world.Deployments[0].Sets[1].Replicas, world.Machines = 2, world.Machines[:3]
			}
			engine, now := core.New(clusterapi.Config{}.WithDefaults()), time.Unix(0, 0)
			engine.Handle(core.Arrived{Token: 1, Ask: core.Ask{Kind: core.KindRelease, ProviderID: "linode://3",
				By: released.Claim}}, now)
			engine.Handle(core.Read{World: world}, now) // the mark is seen
			writes, _ := ops(engine.Handle(core.Read{World: world}, now.Add(time.Minute)))
			if !slices.Equal(writes, c.want) {
				t.Errorf("it writes %v, want %v", writes, c.want)
			}
		})
	}
}

// Whatever a process has done of a removal when it ends is in the cluster, and the next one continues, also without a call that releases.
func TestANewProcessContinuesARemoval(t *testing.T) {
	marked := clusterapi.Machine{Name: "m", UID: "m", ResourceVersion: "1", Deployment: "general", Set: "current", Released: true,
		Claim: claims.Claimant{Name: "a"}}
	stays := clusterapi.Machine{Name: "n", UID: "n", ResourceVersion: "1", Deployment: "general", Set: "older",
		Claim: claims.Claimant{Name: "b"}}
	for name, c := range map[string]struct {
		replicas, current int
		removal           clusterapi.Removal
		machines          []clusterapi.Machine
		want              []clusterapi.Op
	}{
		"marked, and alone": {1, 1, clusterapi.Removal{}, []clusterapi.Machine{marked}, []clusterapi.Op{clusterapi.OpScale}},
		"marked, and an older one would shrink": {2, 1, clusterapi.Removal{}, []clusterapi.Machine{marked, stays},
			[]clusterapi.Op{clusterapi.OpPause}},
		"paused": {1, 1, clusterapi.Removal{Set: "current"}, []clusterapi.Machine{marked, stays},
			[]clusterapi.Op{clusterapi.OpShrink}},
		"shrunk": {1, 0, clusterapi.Removal{Set: "current"}, []clusterapi.Machine{stays}, []clusterapi.Op{clusterapi.OpResume}},
	} {
		t.Run(name, func(t *testing.T) {
			older := len(c.machines) - min(1, c.current)
			world := clusterapi.World{Machines: c.machines, Deployments: []clusterapi.Deployment{{Name: "general", UID: "general",
				ResourceVersion: "1", Replicas: c.replicas, Observed: true, Paused: c.removal.Set != "", Removal: c.removal,
				Sets: []clusterapi.Set{{Name: "older", Replicas: older, Observed: true},
					{Name: "current", Replicas: c.current, Observed: true, Current: true, Created: time.Unix(1, 0)}}}}}
			engine, now := core.New(clusterapi.Config{}.WithDefaults()), time.Unix(0, 0)
			var writes []clusterapi.Op
			for token := range 2 { // a mark is acted on when Cluster API's cache has it
				engine.Handle(core.Arrived{Token: token, Ask: core.Ask{Kind: core.KindWorld}}, now)
				sent, _ := ops(engine.Handle(core.Read{World: world}, now))
				writes, now = append(writes, sent...), now.Add(time.Minute)
			}
			if !slices.Equal(slices.Compact(writes), c.want) {
				t.Errorf("it writes %v, want %v", writes, c.want)
			}
		})
	}
}

// A set of a paused deployment has two Machines, and one is marked. The set is shrunk when the controller has seen the mark. If the set has
// replaced the other Machine meanwhile, so that more Machines stay than the removal says, the removal is written again.
func TestASetIsShrunkToTheMachinesThatStay(t *testing.T) {
	marked := clusterapi.Machine{Name: "m", UID: "m", ResourceVersion: "1", Deployment: "general", Set: "current", Released: true,
		Claim: claims.Claimant{Name: "a"}}
	stays := clusterapi.Machine{Name: "n", UID: "n", ResourceVersion: "1", Deployment: "general", Set: "current",
		Claim: claims.Claimant{Name: "b"}}
	for name, c := range map[string]struct {
		removal  int
		want     clusterapi.Op
		replicas int
	}{
		"as many as stay":         {1, clusterapi.OpShrink, 1},
		"fewer, one was replaced": {0, clusterapi.OpPause, 2},
	} {
		t.Run(name, func(t *testing.T) {
			world := clusterapi.World{Machines: []clusterapi.Machine{marked, stays}, Deployments: []clusterapi.Deployment{{Name: "general",
				UID: "general", ResourceVersion: "1", Replicas: 1, Observed: true, Paused: true,
				Removal: clusterapi.Removal{Set: "current", Replicas: c.removal},
				Sets:    []clusterapi.Set{{Name: "current", Replicas: 2, Observed: true, Current: true}}}}}
			engine, now := core.New(clusterapi.Config{}.WithDefaults()), time.Unix(0, 0)
			engine.Handle(core.Arrived{Token: 1, Ask: core.Ask{Kind: core.KindWorld}}, now)
			if writes, _ := ops(engine.Handle(core.Read{World: world}, now)); len(writes) > 0 {
				t.Errorf("it writes %v before the mark can have been seen", writes)
			}
			now = now.Add(time.Minute)
			engine.Handle(core.Arrived{Token: 2, Ask: core.Ask{Kind: core.KindWorld}}, now)
			actions := engine.Handle(core.Read{World: world}, now)
			i := slices.IndexFunc(actions, func(a core.Action) bool { return a.Op == core.ActionWrite })
			if i < 0 || actions[i].Write.Op != c.want || actions[i].Write.Replicas != c.replicas {
				t.Errorf("it does %v, want %s with %d replicas", actions, c.want, c.replicas)
			}
		})
	}
}
