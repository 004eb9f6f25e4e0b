package nodepoolstatus_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

type provider struct {
	failures []launches.Pause
	limited  bool
	nothing  string
	overdue  string
}

func (p *provider) Failures(string) []launches.Pause                   { return p.failures }
func (p *provider) Limited(context.Context, *karpv1.NodePool) bool     { return p.limited }
func (p *provider) Overdue(*karpv1.NodePool) string                    { return p.overdue }
func (p *provider) Unbuyable(context.Context, *karpv1.NodePool) string { return p.nothing }

// working is a token that the Linode API accepts.
var working = nodepoolstatus.Token{Refused: func() bool { return false }}

type told []string

func (n *told) Publish(all ...events.Event) {
	for _, e := range all {
		*n = append(*n, e.Reason+": "+e.Message)
	}
}

func drifted(pool string) *karpv1.NodeClaim {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "of-" + pool, Labels: map[string]string{karpv1.NodePoolLabelKey: pool}}}
	claim.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeDrifted, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.Now()}}
	return claim
}

func TestWhatKeepsANodePoolFromItsNodesIsShown(t *testing.T) {
	never := []launches.Pause{{Plan: "g6-standard-2", InARow: 3, Until: time.Unix(1700000000, 0)}}
	static := func(p *karpv1.NodePool) {
		p.Spec.Replicas, p.Spec.Limits = ptr.To[int64](2), karpv1.Limits{"nodes": resource.MustParse("2")}
	}
	for name, tt := range map[string]struct {
		provider provider
		change   func(*karpv1.NodePool)
		drifted  string // NodePool of a drifted NodeClaim
		joining  string // reason and words of the condition NodesJoining; "" = it is not there
		stalled  string
		silent   string
	}{
		"purchases of which nothing came": {provider: provider{overdue: "the account's limit"}, silent: "the account's limit"},
		"nothing":                         {},
		"nodes that never join":           {provider: provider{failures: never}, joining: "NodesNeverJoin: 3 nodes of g6-standard-2"},
		"launches that are given up": {provider: provider{failures: []launches.Pause{{InARow: 2}}},
			joining: "LaunchesGivenUp: 2 launches in a row failed"},
		"a limit, and nothing has drifted":  {provider: provider{limited: true}, drifted: "another"},
		"a limit stalls drift":              {provider: provider{limited: true}, drifted: "default", stalled: "a limit of the account"},
		"a static pool at its limit":        {change: static, drifted: "default", stalled: "spec.limits.nodes"},
		"a static pool, none has drifted":   {change: static},
		"drift without anything in its way": {drifted: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
			if tt.change != nil {
				tt.change(pool)
			}
			objects := []client.Object{pool}
			if tt.drifted != "" {
				objects = append(objects, drifted(tt.drifted))
			}
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(pool).Build()
			events := &told{}
			reconcile := func() {
				t.Helper()
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
					t.Fatal(err)
				}
				if _, err := nodepoolstatus.NewController(kube, &tt.provider, working, events, true).Reconcile(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
			}
			reconcile()
			reconcile()
			check := func(condition, words string) {
				t.Helper()
				is := pool.StatusConditions().Get(condition)
				if shown := is != nil; shown != (words != "") || shown && !strings.Contains(is.Reason+": "+is.Message, words) {
					t.Errorf("%s: %+v, want %q", condition, is, words)
				}
			}
			check(nodepoolstatus.ConditionNodesJoining, tt.joining)
			check(nodepoolstatus.ConditionDriftStalled, tt.stalled)
			check(nodepoolstatus.ConditionDelivered, tt.silent)
			if want := tt.joining+tt.stalled+tt.silent != ""; (len(*events) == 1) != want {
				t.Errorf("told %q", *events)
			}
			tt.provider = provider{}
			pool.Spec.Limits = nil
			if err := kube.Update(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			reconcile()
			check(nodepoolstatus.ConditionNodesJoining, "")
			check(nodepoolstatus.ConditionDriftStalled, "")
			check(nodepoolstatus.ConditionDelivered, "")
		})
	}
}

func TestANodePoolThatCanBuyNothingHasACondition(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).WithStatusSubresource(pool).Build()
	from := &provider{}
	c := nodepoolstatus.NewController(kube, from, working, &told{}, true)
	for _, why := range []string{"none of the 3 plans can be bought now", ""} {
		from.nothing = why
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Reconcile(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		condition := pool.StatusConditions().Get(nodepoolstatus.ConditionAvailable)
		if (condition.IsFalse() && condition.Message == why) != (why != "") {
			t.Errorf("with %q: %+v", why, condition)
		}
	}
}

func TestANodePoolWithoutAnyBoundIsReported(t *testing.T) {
	limited := func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("100")} }
	static := func(p *karpv1.NodePool) { p.Spec.Replicas = ptr.To[int64](2) }
	for name, c := range map[string]struct {
		bounded bool
		change  func(*karpv1.NodePool)
		want    bool
	}{
		"no bound": {want: true}, "a setting": {bounded: true}, "limits": {change: limited}, "static": {change: static},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
			if c.change != nil {
				c.change(pool)
			}
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).WithStatusSubresource(pool).Build()
			events := &told{}
			if _, err := nodepoolstatus.NewController(kube, &provider{}, working, events, c.bounded).Reconcile(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(*events, func(e string) bool { return strings.HasPrefix(e, "NoLimits: ") })
			if said != c.want {
				t.Errorf("events %q", *events)
			}
			condition := pool.StatusConditions().Get(nodepoolstatus.ConditionLimits)
			if condition.IsFalse() != c.want || c.want && !strings.Contains(condition.Message, "MAX_NODES") {
				t.Errorf("condition %+v", condition)
			}
		})
	}
}
