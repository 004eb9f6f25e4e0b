package core

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Two claimants send the same request at once. The platform refuses one of them.
func TestARefusalDoesNotAnswerACreationUnderWay(t *testing.T) {
	core := oneInstance(t)
	core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.View().Term()}, Began: core.now()})
	calls, effects := map[string]*Call{}, map[string]*Effect{}
	for _, name := range []string{"b", "c"} {
		order := &Order{Who: claims.ClaimID{Value: name}, Label: "demo-" + name, InstanceType: "plan", Capacity: "plan", Form: "form"}
		calls[name] = core.Admit(Ask{Kind: AskCreate, Order: order}, core.now())
		effects[name] = core.Next(calls[name], core.now()).Effect
		if effects[name] == nil || effects[name].Op != OpCreate {
			t.Fatalf("claimant %s: %+v, want a creation", name, effects[name])
		}
	}
	core.handle(Result{Effect: *effects["c"], Began: core.now(), Err: &claims.Error{
		Kind: claims.KindInvalid, Op: "create", Field: "Spec.Image", Effect: claims.EffectNone,
	}})
	if s := core.Next(calls["c"], core.now()); s.End == nil || claims.KindOf(s.End.Err) != claims.KindInvalid {
		t.Errorf("the claimant that was refused: %+v", s)
	}
	if s := core.Next(calls["b"], core.now()); !s.Wait {
		t.Errorf("the claimant whose creation is under way: %+v", s)
	}
}

// A creation without an answer takes effect while its claimant waits for the next slot, and a list shows the instance. The next claimant
// gets the slot, in any order of the calls.
func TestAClaimantWithAnInstanceHoldsUpNoOther(t *testing.T) {
	c := New(Settings{Cluster: "demo", Creations: 1}.WithDefaults(), simOwn, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	list := func(all ...Instance) {
		c.handle(Result{Effect: Effect{Op: OpList, Term: c.known.View().Term()}, Began: c.now(), Instances: all})
	}
	admit := func(name string) *Call {
		order := &Order{Who: claims.ClaimID{Value: name}, Label: "demo-" + name, InstanceType: "plan"}
		return c.Admit(Ask{Kind: AskCreate, Order: order}, c.now())
	}
	list()
	first := admit("b")
	sent := c.Next(first, c.now()).Effect
	c.handle(Result{Effect: *sent, Began: c.now(), Err: unanswered(OpCreate)})
	c.known.At(c.now().Add(tuning.FirstFind))
	search := c.Next(first, c.now()).Effect
	if search == nil || search.Op != OpFind {
		t.Fatalf("%+v, want a search for the label", search)
	}
	c.handle(Result{Effect: *search, Began: c.now()})
	second := admit("d")
	for _, call := range []*Call{first, second} {
		if s := c.Next(call, c.now()); !s.Wait {
			t.Fatalf("%+v, want a wait for the next slot", s)
		}
	}
	c.known.At(c.now().Add(tuning.CreationWindow))
	list(Instance{Node: claims.Node{InstanceID: 7, Tags: simOwn.ClaimTags(first.Ask().Order.Who)}})
	if s := c.Next(second, c.now()); s.Effect == nil || s.Effect.Op != OpCreate {
		t.Errorf("%+v, want a creation", s)
	}
}
