package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/internal/core"
)

// decided returns the writes and the one answer to a claim of deployment after one reading.
func decided(c *core.Core, deployment string, w clusterapi.World) (writes []clusterapi.Op, answer *core.Answer) {
	now := time.Unix(0, 0)
	ask := core.Ask{Kind: core.KindClaim, Request: clusterapi.Request{Claimant: claims.Claimant{Name: "a", UID: "u"},
		Deployments: []string{deployment}}}
	c.Handle(core.Arrived{Token: 1, Ask: ask}, now)
	return ops(c.Handle(core.Read{World: w}, now))
}

func ops(actions []core.Action) (writes []clusterapi.Op, answer *core.Answer) {
	for _, a := range actions {
		switch a.Op {
		case core.ActionWrite:
			writes = append(writes, a.Write.Op)
		case core.ActionAnswer:
			answer = &a.Answer
		}
	}
	return writes, answer
}

func oneDeployment(name, refusal string) clusterapi.Deployment {
	return clusterapi.Deployment{Name: name, UID: name, ResourceVersion: "1", Refusal: refusal, Observed: true, Replicas: 1,
		Sets: []clusterapi.Set{{Name: name + "-set", Replicas: 1, Observed: true, Current: true}}}
}

func freeMachine(deployment, version string) clusterapi.Machine {
	return clusterapi.Machine{Name: "m", UID: "m", ResourceVersion: version, Deployment: deployment, Set: deployment + "-set",
		ProviderID: clusterapi.ProviderIDPrefix + "1"}
}

// A deployment that must not be used keeps its free Machine and its count, and the claimant gets the cure.
func TestARefusedDeploymentIsLeftAlone(t *testing.T) {
	const cure = "spec.paused is true; set it to false"
	world := clusterapi.World{Deployments: []clusterapi.Deployment{oneDeployment("general", cure)},
		Machines: []clusterapi.Machine{freeMachine("general", "1")}}
	writes, answer := decided(core.New(clusterapi.Config{}.WithDefaults()), "general", world)
	if len(writes) > 0 {
		t.Errorf("it writes %v", writes)
	}
	if answer == nil || claims.KindOf(answer.Err) != claims.KindConflict || !strings.Contains(answer.Err.Error(), cure) {
		t.Errorf("the answer is %+v; want a conflict with the cure", answer)
	}
}

// A claim that the process before has sent may take effect until the version of its Machine has changed. Until then nothing is bought
// for its claimant: it would have two.
func TestANewProcessBuysNothingWhileAnEarlierClaimMayLand(t *testing.T) {
	c := core.New(clusterapi.Config{}.WithDefaults())
	empty := oneDeployment("empty", "")
	empty.Replicas, empty.Sets[0].Replicas = 0, 0
	world := func(version string) clusterapi.World {
		return clusterapi.World{Deployments: []clusterapi.Deployment{oneDeployment("general", ""), empty},
			Machines: []clusterapi.Machine{freeMachine("general", version)}}
	}
	if writes, _ := decided(c, "empty", world("1")); !slices.Equal(writes, []clusterapi.Op{clusterapi.OpFence}) {
		t.Fatalf("it writes %v; want a fence alone", writes)
	}
	later := time.Unix(60, 0)
	c.Handle(core.Written{Write: clusterapi.Write{Op: clusterapi.OpFence, Object: "m"}, Err: errors.New("no answer")}, later)
	if writes, _ := ops(c.Handle(core.Read{World: world("1")}, later)); slices.Contains(writes, clusterapi.OpScale) {
		t.Fatal("it buys although the fence has not landed")
	}
	if writes, _ := ops(c.Handle(core.Read{World: world("2")}, later)); !slices.Equal(writes, []clusterapi.Op{clusterapi.OpScale}) {
		t.Errorf("it writes %v after the fence landed; want one scale", writes)
	}
}
