package cloudprovider_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// since is a NodeClaim's condition, true since a time.
func since(c *karpv1.NodeClaim, condition string, at time.Time) {
	c.Status.Conditions = append(c.Status.Conditions,
		status.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: condition, LastTransitionTime: metav1.NewTime(at)})
}

func offered(t *testing.T, p core.CloudProvider, plan string) bool {
	t.Helper()
	all, err := p.GetInstanceTypes(t.Context(), nodePool(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		if it.Name == plan {
			return len(it.Offerings.Available()) > 0
		}
	}
	t.Fatalf("%s is not in the list", plan)
	return false
}

// Nodes that launch and never join were bought, given up and bought again, without end.
func TestANodeThatNeverJoinsIsBoughtAgainAfterGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const plan = "g6-standard-2"
		told, counted := record.NewFakeRecorder(100), 0
		kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
		pools := &scripted{t: t, list: func() ([]lkepool.Node, error) { return []lkepool.Node{claimed(5, "a")}, nil }}
		plans := market(t)
		p := cloudprovider.New(kube, over(pools), plans, cloudprovider.Config{
			Region: "us-ord", Events: quietly(told), OnNeverJoined: func(string) { counted++ },
		})
		fail := func(uid string) {
			t.Helper()
			claim := nodeClaim(func(c *karpv1.NodeClaim) {
				c.UID, c.Name, c.Status.ProviderID = types.UID(uid), uid, "linode://5"
				c.Labels[corev1.LabelInstanceTypeStable] = plan
				since(c, karpv1.ConditionTypeLaunched, time.Now().Add(-15*time.Minute))
			})
			for range 3 { // core calls until the instance is gone
				if err := p.Delete(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, pause := range []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
			fail(string(rune('a' + i)))
			if pause > 0 && (offered(t, p, plan) || !offered(t, p, "g6-standard-4")) {
				t.Errorf("after failure %d: the plan is asked for at once, or another one is not", i+1)
			}
			time.Sleep(pause)
			if !offered(t, p, plan) {
				t.Errorf("after failure %d and %s the plan is not asked for", i+1, pause)
			}
		}
		if counted != 5 || len(told.Events) != 5 || !strings.Contains(<-told.Events, "never joined") {
			t.Errorf("%d counted, %d events left", counted, len(told.Events))
		}
		fail("z")
		if plans.Launches().Joined("default", plan, time.Now().Add(-time.Hour)); offered(t, p, plan) {
			t.Error("a node that joined long before ends the pause")
		}
		time.Sleep(time.Second)
		if plans.Launches().Joined("default", plan, time.Now()); !offered(t, p, plan) {
			t.Error("a node that joins does not end the pause")
		}
	})
}

func TestANodeClaimDeletedEarlyIsNoFailure(t *testing.T) {
	p := provider(t, "standard", &scripted{t: t}, readyClass(), nodePool(nil))
	for range 3 {
		claim := nodeClaim(func(c *karpv1.NodeClaim) {
			c.Status.ProviderID, c.Labels[corev1.LabelInstanceTypeStable] = "linode://5", "g6-standard-2"
			since(c, karpv1.ConditionTypeLaunched, time.Now().Add(-time.Minute))
		})
		if err := p.Delete(t.Context(), claim); err != nil || !offered(t, p, "g6-standard-2") {
			t.Errorf("%v, or the plan is not asked for", err)
		}
	}
}

// Core plans nothing for any pod while a NodeClaim has no provider ID.
func TestALaunchThatCannotWorkIsGivenUp(t *testing.T) {
	for _, kind := range []claims.Kind{claims.KindInvalid, claims.KindForbidden, claims.KindConflict} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pools := &scripted{t: t, claim: func(context.Context, lkepool.Request) (lkepool.Node, error) {
					return lkepool.Node{}, failing(kind, "firewall_id")
				}}
				told := record.NewFakeRecorder(100)
				kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
				p := cloudprovider.New(kube, over(pools), market(t),
					cloudprovider.Config{Region: "us-ord", Events: quietly(told)})
				launch := func() {
					t.Helper()
					for attempt := 1; attempt <= 4; attempt++ {
						_, err := p.Create(t.Context(), nodeClaim())
						if core.IsInsufficientCapacityError(err) != (attempt == 4) {
							t.Errorf("attempt %d: %v", attempt, err)
						}
					}
				}
				launch()
				if !offered(t, p, "g6-standard-2") {
					t.Error("the first launch that is given up pauses the NodePool")
				}
				launch()
				if offered(t, p, "g6-standard-2") {
					t.Error("the second launch that is given up does not pause the NodePool")
				}
				if marked := unavailable(t, p); len(marked) != len(somePlans) {
					t.Errorf("paused: %v", marked)
				}
				time.Sleep(time.Minute)
				if marked := unavailable(t, p); len(marked) != 0 {
					t.Errorf("still paused, or a plan is marked for it: %v", marked)
				}
				if text := <-told.Events; !strings.Contains(text, "Launch given up") {
					t.Errorf("told %q", text)
				}
			})
		})
	}
}

// With a refused token nothing can be launched: the NodeClaim keeps the reason, and the pods wait for no pause once the token works.
func TestALaunchWithARefusedTokenGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, info := newSim(t, linodesim.Standard)
		p := simulated(t, sim, info)
		revoked := sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusUnauthorized, Reason: "Invalid Token"}})
		for attempt := range 10 {
			_, err := p.Create(t.Context(), numbered(1))
			var createErr *core.CreateError
			if !errors.As(err, &createErr) || createErr.ConditionReason != launches.EventTokenRefused ||
				!strings.Contains(createErr.ConditionMessage, "LINODE_TOKEN") {
				t.Fatalf("attempt %d: %v", attempt, err)
			}
			time.Sleep(time.Minute)
		}
		if failures := p.Failures("default"); len(failures) > 0 || !schedulable(t, p) {
			t.Errorf("the NodePool is paused: %+v", failures)
		}
		sim.Heal(revoked)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if launch(ctx, t, p, numbered(1)) == nil {
			t.Error("no node once the token works")
		}
	})
}

func TestANodePoolWithATaintOfKarpentersGetsNoNodes(t *testing.T) {
	for name, startup := range map[string]bool{"taint": false, "startup taint": true} {
		t.Run(name, func(t *testing.T) {
			reserved := nodePool(nil)
			taints := []corev1.Taint{{Key: karpv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}}
			if startup {
				reserved.Spec.Template.Spec.StartupTaints = taints
			} else {
				reserved.Spec.Template.Spec.Taints = taints
			}
			told := record.NewFakeRecorder(100)
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), reserved).Build()
			p := cloudprovider.New(kube, over(&scripted{t: t}), market(t),
				cloudprovider.Config{Region: "us-ord", Events: quietly(told)})
			all, err := p.GetInstanceTypes(t.Context(), reserved)
			if err != nil || len(all) != len(somePlans) {
				t.Fatalf("%d types, %v", len(all), err)
			}
			for _, it := range all {
				if len(it.Offerings.Available()) > 0 {
					t.Errorf("%s is offered", it.Name)
				}
			}
			if text := <-told.Events; !strings.Contains(text, karpv1.UnregisteredTaintKey) {
				t.Errorf("told %q", text)
			}
			if _, err := p.Create(t.Context(), nodeClaim()); !core.IsInsufficientCapacityError(err) {
				t.Errorf("a launch: %v", err)
			}
		})
	}
}

// A NodeClaim made by hand may have such a taint: it never goes into a pool, and is no difference.
func TestATaintOfKarpentersNeverGoesIntoAPool(t *testing.T) {
	claim := nodeClaim(func(c *karpv1.NodeClaim) {
		c.Spec.Taints = []corev1.Taint{
			{Key: karpv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute},
			{Key: karpv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule},
			{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule},
		}
	})
	pools := &scripted{t: t, claim: grant}
	p := provider(t, "standard", pools, readyClass(), nodePool(nil))
	created, err := p.Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if taints := pools.requests[0].Key.Template.Taints; len(taints) != 1 || taints[0].Key != "team" {
		t.Errorf("the pool gets %v", taints)
	}
	made := claimed(4711, claim.Name, func(n *lkepool.Node) { n.Template = pools.requests[0].Key.Template })
	pools.list = func() ([]lkepool.Node, error) { return []lkepool.Node{made}, nil }
	claim.Status.ProviderID = created.Status.ProviderID
	if reason, err := p.IsDrifted(t.Context(), claim); reason != "" || err != nil {
		t.Errorf("drifted: %q, %v", reason, err)
	}
}

// A text of the API's may be of any length, and contain anything.
func TestConditionMessagesAreBounded(t *testing.T) {
	pools := &scripted{t: t, claim: func(context.Context, lkepool.Request) (lkepool.Node, error) {
		return lkepool.Node{}, &claims.Error{Kind: claims.KindInvalid, Field: "labels",
			Err: errors.New("\x00\x1b[31m" + strings.Repeat("long\n", 100000))}
	}}
	p := provider(t, "standard", pools, readyClass(), nodePool(nil))
	_, err := p.Create(t.Context(), nodeClaim())
	var createErr *core.CreateError
	if !errors.As(err, &createErr) {
		t.Fatalf("got %T", err)
	}
	if message := createErr.ConditionMessage; len(message) > 1000 || strings.ContainsAny(message, "\x00\x1b\n") ||
		!strings.Contains(message, "long") {
		t.Errorf("%d characters: %.80q", len(message), message)
	}
}
