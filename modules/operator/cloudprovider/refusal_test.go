package cloudprovider_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

type (
	request = lkepool.Request
	node    = lkepool.Node
)

// silence stands for a purchase of which nothing came, in place of a field that the API refuses.
const silence = "silence"

// A refusal is reported on the NodePool, once for as long as it is believed, however many NodeClaims were refused.
func TestRefusalsAreToldOnTheNodePool(t *testing.T) {
	tests := []struct {
		kind  claims.Kind
		field string
		says  []string // nil = nothing
		lasts time.Duration
	}{
		{claims.KindInsufficientCapacity, "", []string{"Warning InsufficientCapacity", "g6-standard-1", "us-ord", "3m0s"}, 3 * time.Minute},
		{claims.KindInsufficientCapacity, silence, []string{"Warning PurchaseOverdue", "g6-standard-1", "us-ord", "no capacity",
			"account's limit of Linodes or vCPUs", "15m0s"}, 15 * time.Minute},
		{claims.KindInvalid, "type", []string{"Warning PlanRefused", "g6-standard-1", "30m0s"}, 30 * time.Minute},
		{claims.KindQuotaExceeded, "", []string{"Warning AccountLimitReached", "g6-standard-1", "limit", "any of 4 plans", "support", "3m0s"},
			3 * time.Minute},
		{claims.KindQuotaExceeded, claims.FieldMaxNodes,
			[]string{"Warning CeilingReached", "g6-standard-1", "maxNodes", "any of 4 plans", "1m0s"}, time.Minute},
		{claims.KindQuotaExceeded, claims.FieldMaxHourlyPrice, []string{"Warning CeilingReached", "maxHourlyPrice"}, time.Minute},
		{claims.KindInvalid, "firewall_id", nil, 0},
		{claims.KindUnavailable, "", nil, 0},
		{claims.KindRateLimited, "", nil, 0},
		{claims.KindForbidden, "", nil, 0},
		{claims.KindConflict, "", nil, 0},
		{claims.KindProvisioning, "", nil, 0},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+tt.field, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := record.NewFakeRecorder(100)
				kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
				// Twenty launches at the same time: all have chosen before the first is refused.
				release := make(chan struct{})
				p := cloudprovider.New(kube, over(&scripted{t: t, claim: func(context.Context, request) (node, error) {
					<-release
					if tt.field == silence {
						return node{}, neverCame(claims.EffectNone)
					}
					return node{}, failing(tt.kind, tt.field)
				}}), market(t), cloudprovider.Config{Region: "us-ord", Events: quietly(told)})
				launch := func() {
					for n := range 20 {
						go func() {
							if _, err := p.Create(t.Context(), numbered(n)); err == nil {
								t.Error("a refused launch succeeded")
							}
						}()
						synctest.Wait()
					}
					close(release)
					synctest.Wait()
				}
				launch()
				expect(t, told, tt.says)
				time.Sleep(tt.lasts)
				release = make(chan struct{})
				launch()
				expect(t, told, tt.says)
			})
		})
	}
}

// quiet leaves repetitions out as core's recorder does; that one's cache outlives a test's bubble.
type quiet struct {
	to *record.FakeRecorder

	mu    sync.Mutex
	until map[string]time.Time
}

func quietly(to *record.FakeRecorder) *quiet { return &quiet{to: to, until: map[string]time.Time{}} }

func (q *quiet) Publish(all ...events.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range all {
		key := e.Reason + strings.Join(e.DedupeValues, "-")
		if len(e.DedupeValues) == 0 || e.DedupeTimeout == 0 || e.InvolvedObject.(*karpv1.NodePool).Name != "default" {
			panic("an event that would be repeated, or of nothing")
		}
		if time.Now().Before(q.until[key]) {
			continue
		}
		q.until[key] = time.Now().Add(e.DedupeTimeout)
		q.to.Event(e.InvolvedObject, e.Type, e.Reason, e.Message)
	}
}

func expect(t *testing.T, told *record.FakeRecorder, says []string) {
	t.Helper()
	var texts []string
	for len(told.Events) > 0 {
		texts = append(texts, <-told.Events)
	}
	if (says == nil && len(texts) > 0) || (says != nil && len(texts) != 1) {
		t.Errorf("told %d times: %q", len(texts), texts)
		return
	}
	for _, words := range says {
		if !strings.Contains(texts[0], words) {
			t.Errorf("%q does not say %q", texts[0], words)
		}
	}
}

// An account at its limit costs a refused request every three minutes, however often core tries, and nothing once the
// limit is raised. Core makes a NodeClaim only while a type is offered (schedulable).
func TestAnAccountLimitIsNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, info := newSim(t, linodesim.Standard)
		p := simulated(t, sim, info)
		sim.SetAccountLimit(1)
		writes := func() (n int) {
			for _, call := range sim.Calls() {
				if call.Method != "GET" {
					n += call.N
				}
			}
			return n
		}
		before, claims, calls := writes(), 0, total(sim)
		for range 180 { // every ten seconds for half an hour
			if schedulable(t, p) {
				claims++
				if _, err := p.Create(t.Context(), numbered(claims)); !core.IsInsufficientCapacityError(err) {
					t.Fatalf("got %v", err)
				}
			}
			// Nor does a NodeClaim that was made all the same reach the API.
			unasked := total(sim)
			if _, err := p.Create(t.Context(), numbered(1000+claims)); !core.IsInsufficientCapacityError(err) || total(sim) != unasked {
				t.Fatalf("got %v after %d requests", err, total(sim)-unasked)
			}
			time.Sleep(10 * time.Second)
		}
		if claims < 8 || claims > 11 {
			t.Errorf("%d NodeClaims in half an hour, want one every three minutes", claims)
		}
		if n := writes() - before; n != claims {
			t.Errorf("%d requests that change something for %d NodeClaims", n, claims)
		}
		if n := total(sim) - calls; n > 5*claims {
			t.Errorf("%d requests for %d NodeClaims", n, claims)
		}
		sim.SetAccountLimit(100)
		time.Sleep(3 * time.Minute)
		if !schedulable(t, p) {
			t.Error("nothing is offered three minutes after the limit was raised")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if launch(ctx, t, p, numbered(claims+1)) == nil {
			t.Error("no node after the limit was raised")
		}
	})
}

func total(sim *linodesim.Sim) (n int) {
	for _, call := range sim.Calls() {
		n += call.N
	}
	return n
}

// schedulable returns whether core would make a NodeClaim: whether any type has an offering.
func schedulable(t *testing.T, p core.CloudProvider) bool {
	t.Helper()
	all, err := p.GetInstanceTypes(t.Context(), nodePool(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		if len(it.Offerings.Available()) > 0 {
			return true
		}
	}
	return false
}
