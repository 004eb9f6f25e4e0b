package cloudprovider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// failing is an error of an engine about an answer of the API.
func failing(kind claims.Kind, field string) error {
	return &claims.Error{Kind: kind, Op: "test", Field: field,
		Err: fmt.Errorf("the API's words: %w", &linode.Error{Kind: linode.KindInvalid, Status: 400})}
}

// refusing401 is an engine's error about a token that the API refuses.
func refusing401() error {
	return &claims.Error{Kind: claims.KindForbidden, Op: "test", Err: &linode.Error{Kind: linode.KindUnauthorized, Status: 401}}
}

// neverCame is an engine's own conclusion, with the effect that it gives it.
func neverCame(effect claims.Effect) error {
	return &claims.Error{Kind: claims.KindInsufficientCapacity, Op: "claim", Effect: effect,
		Err: errors.New("1 nodes were bought and have had no Linode for over 3m0s")}
}

// Only refusals of a plan make it unavailable, and each kind of error reaches core with its reason.
func TestErrorsOfAClaimReachCore(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		reason string // of the Launched condition; "" = InsufficientCapacity and the plan is marked
	}{
		{"provisioning", failing(claims.KindProvisioning, ""), "Provisioning"},
		{"no capacity", failing(claims.KindInsufficientCapacity, ""), ""},
		{"no Linode came of a purchase", neverCame(claims.EffectUnknown), ""},
		{"account limit", failing(claims.KindQuotaExceeded, ""), ""},
		{"plan refused", failing(claims.KindInvalid, "type"), ""},
		{"a firewall that does not exist", failing(claims.KindInvalid, "firewall_id"), "InvalidRequest"},
		{"invalid without a field", failing(claims.KindInvalid, ""), "InvalidRequest"},
		{"rate limited", failing(claims.KindRateLimited, ""), "RateLimited"},
		{"conflict", failing(claims.KindConflict, ""), "Conflict"},
		{"forbidden", failing(claims.KindForbidden, ""), "Forbidden"},
		{"a refused token", refusing401(), "TokenRefused"},
		{"a server error", failing(claims.KindUnavailable, ""), "LinodeAPIUnavailable"},
		{"not found", failing(claims.KindNotFound, ""), "NotFound"},
		{"an error of no kind", context.Canceled, "LaunchFailed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t, claim: func(context.Context, lkepool.Request) (lkepool.Node, error) { return lkepool.Node{}, tt.err }}
			p := provider(t, "standard", pools, readyClass(), nodePool(nil))
			_, err := p.Create(t.Context(), nodeClaim())
			if !errors.Is(err, tt.err) {
				t.Errorf("the cause is lost in %v", err)
			}
			if core.IsNodeClaimNotFoundError(err) {
				t.Errorf("a launch that fails is not a NodeClaim that is gone: %v", err)
			}
			var createErr *core.CreateError
			if tt.reason != "" && (!errors.As(err, &createErr) || createErr.ConditionReason != tt.reason || createErr.ConditionMessage == "") {
				t.Errorf("got %v, want a CreateError with reason %s and a message", err, tt.reason)
			}
			if core.IsInsufficientCapacityError(err) != (tt.reason == "") {
				t.Errorf("InsufficientCapacity: %v", err)
			}
			if marked := unavailable(t, p); (len(marked) > 0) != (tt.reason == "") || (len(marked) > 1 && tt.name != "account limit") {
				t.Errorf("marked as unavailable: %v", marked)
			}
		})
	}
}

// Core repeats a launch soon only if its failure changed the status, so each message has the number of the attempt.
func TestEveryAttemptIsNews(t *testing.T) {
	pools := &scripted{t: t, claim: func(context.Context, lkepool.Request) (lkepool.Node, error) {
		return lkepool.Node{}, failing(claims.KindProvisioning, "")
	}}
	p := provider(t, "standard", pools, readyClass(), nodePool(nil))
	for _, want := range []string{"The node is on its way (attempt 1)", "The node is on its way (attempt 2)"} {
		_, err := p.Create(t.Context(), nodeClaim())
		var createErr *core.CreateError
		if !errors.As(err, &createErr) || createErr.ConditionMessage != want {
			t.Errorf("got %v, want the message %q", err, want)
		}
	}
}

// The engine waits for a Linode that it cannot see with a refused token. The NodeClaim has the reason, as the NodePool and the pod do.
func TestANodeOnItsWayNamesARefusedToken(t *testing.T) {
	refused := true
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
	pools := &scripted{t: t, claim: func(context.Context, lkepool.Request) (lkepool.Node, error) {
		return lkepool.Node{}, failing(claims.KindProvisioning, "")
	}}
	p := cloudprovider.New(kube, over(pools), market(t), cloudprovider.Config{Region: "us-ord", TokenRefused: func() bool { return refused }})
	for _, want := range []string{launches.EventTokenRefused, "Provisioning"} {
		_, err := p.Create(t.Context(), nodeClaim())
		var createErr *core.CreateError
		if !errors.As(err, &createErr) || createErr.ConditionReason != want {
			t.Errorf("got %v, want the reason %s", err, want)
		}
		refused = false
	}
}

// LKE Enterprise accepts a pool over the account's limit, or without capacity, and nothing happens. Until the engine gives the purchase up
// a NodeClaim shows only that it waits: it names what LKE does not report.
func TestANodeThatIsOnItsWayForLongNamesWhatLKEDoesNotReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pools := &scripted{t: t, claim: func(context.Context, lkepool.Request) (lkepool.Node, error) {
			return lkepool.Node{}, failing(claims.KindProvisioning, "")
		}}
		p := provider(t, "enterprise", pools, readyClass(), nodePool(nil))
		for _, step := range []struct {
			pause time.Duration
			named bool
		}{{0, false}, {time.Minute, false}, {time.Minute, true}} {
			time.Sleep(step.pause)
			_, err := p.Create(t.Context(), nodeClaim())
			var createErr *core.CreateError
			if !errors.As(err, &createErr) || createErr.ConditionReason != "Provisioning" {
				t.Fatalf("got %v", err)
			}
			for _, words := range []string{"no capacity", "limit of Linodes or vCPUs"} {
				if strings.Contains(createErr.ConditionMessage, words) != step.named {
					t.Errorf("after %s more: %q, %q named: want %t", step.pause, createErr.ConditionMessage, words, step.named)
				}
			}
		}
	})
}

func unavailable(t *testing.T, p core.CloudProvider) []string {
	t.Helper()
	all, err := p.GetInstanceTypes(t.Context(), nodePool(nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(somePlans) {
		t.Errorf("got %d types, want all %d, the unavailable ones too", len(all), len(somePlans))
	}
	var names []string
	for _, it := range all {
		if len(it.Offerings.Available()) == 0 {
			names = append(names, it.Name)
		}
	}
	return names
}

// After a refusal the next NodeClaim gets the next type.
func TestTheNextTypeIsTriedAtOnce(t *testing.T) {
	pools := &scripted{t: t, claim: func(ctx context.Context, r lkepool.Request) (lkepool.Node, error) {
		if r.Key.InstanceType == "g6-standard-1" {
			return lkepool.Node{}, failing(claims.KindInsufficientCapacity, "")
		}
		return grant(ctx, r)
	}}
	p := provider(t, "standard", pools, readyClass(), nodePool(nil))
	small := nodeClaim(requests("cpu", "500m"))
	if _, err := p.Create(t.Context(), small); !core.IsInsufficientCapacityError(err) {
		t.Fatalf("got %v", err)
	}
	created, err := p.Create(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	if got := created.Labels["node.kubernetes.io/instance-type"]; got != "g6-dedicated-2" {
		t.Errorf("got %s", got)
	}
}

// An instance that is gone is reported as not found, and no other error of a look-up is.
func TestOnlyAProvenAbsenceIsNotFound(t *testing.T) {
	for _, kind := range []claims.Kind{
		claims.KindProvisioning, claims.KindInsufficientCapacity, claims.KindQuotaExceeded, claims.KindRateLimited,
		claims.KindInvalid, claims.KindNotFound, claims.KindConflict, claims.KindForbidden, claims.KindUnavailable,
	} {
		t.Run(string(kind), func(t *testing.T) {
			err := failing(kind, "")
			pools := &scripted{
				t:       t,
				get:     func(int) (lkepool.Node, error) { return lkepool.Node{}, err },
				release: func(int) error { return err },
				list:    func() ([]lkepool.Node, error) { return nil, err },
			}
			p := provider(t, "standard", pools, readyClass())
			claim := nodeClaim()
			claim.Status.ProviderID = "linode://12"
			_, getErr := p.Get(t.Context(), "linode://12")
			for call, got := range map[string]error{"Get": getErr, "Delete": p.Delete(t.Context(), claim)} {
				if call == "Delete" && kind == claims.KindProvisioning {
					if got != nil {
						t.Errorf("a removal that has to wait is accepted, and asked for again: got %v", got)
					}
					continue
				}
				if got == nil || core.IsNodeClaimNotFoundError(got) != (kind == claims.KindNotFound) {
					t.Errorf("%s: got %v", call, got)
				}
			}
			if _, got := p.List(t.Context()); got == nil {
				t.Error("List returned a list in place of an error")
			}
		})
	}
}
