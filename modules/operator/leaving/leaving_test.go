package leaving_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/leaving"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
)

var now = time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)

// cluster has three nodes of one NodePool, of which one may go at a time: a and b are empty, c has a pod.
type cluster struct {
	pool    *karpv1.NodePool
	claims  map[string]*karpv1.NodeClaim
	nodes   map[string]*corev1.Node
	pod     *corev1.Pod
	budgets []*policyv1.PodDisruptionBudget
}

func newCluster() *cluster {
	c := &cluster{pool: &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, claims: map[string]*karpv1.NodeClaim{},
		nodes: map[string]*corev1.Node{}}
	c.pool.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("30s")
	c.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "10%"}}
	for _, name := range []string{"a", "b", "c"} {
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "of-" + name,
			Labels: map[string]string{karpv1.NodePoolLabelKey: "default"}}}
		claim.Status.ProviderID = "linode://" + name
		claim.StatusConditions().SetTrue(karpv1.ConditionTypeConsolidatable)
		c.claims[name] = claim
		c.nodes[name] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{karpv1.NodeInitializedLabelKey: "true"}},
			Spec:       corev1.NodeSpec{ProviderID: "linode://" + name},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}}}
	}
	c.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "c"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	return c
}

func (c *cluster) deletedSince(name string, age time.Duration) {
	at := metav1.NewTime(now.Add(-age))
	c.claims[name].DeletionTimestamp = &at
}

func (c *cluster) kept(t *testing.T) string {
	t.Helper()
	store := objectstore.New()
	for _, budget := range c.budgets {
		store.Put(budget)
	}
	limits, err := leaving.LimitsOf(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	members := leaving.Members("default", []*karpv1.NodeClaim{c.claims["c"], c.claims["a"], c.claims["b"]},
		[]*corev1.Node{c.nodes["a"], c.nodes["b"], c.nodes["c"]}, func(node string) (pods []*corev1.Pod) {
			if c.pod.Spec.NodeName == node {
				pods = append(pods, c.pod)
			}
			return pods
		})
	use, err := leaving.Of(c.pool, members, limits, clocktesting.NewFakeClock(now))
	if err != nil {
		t.Fatal(err)
	}
	return use.Kept(now)
}

func strict(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
}

func TestEmptyNodesThatStayNameWhatUsesTheBudgetUp(t *testing.T) {
	const begins = "Empty nodes stay and are billed (a, b): the budgets of the NodePool let 1 leave at a time, and other nodes use the " +
		"budgets up: node c, "
	for name, tt := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"a PodDisruptionBudget": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
		}, begins + "whose deletion began at 2026-05-04T11:00:00Z and waits, because PodDisruptionBudget shop/web allows no eviction " +
			"of pod shop/web"},
		"two PodDisruptionBudgets, which no eviction can meet": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web"), strict("all")}
		}, begins + "whose deletion began at 2026-05-04T11:00:00Z and waits, because PodDisruptionBudget shop/all with PodDisruptionBudget " +
			"shop/web allows no eviction of pod shop/web"},
		"do-not-disrupt": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.pod.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		}, begins + "whose deletion began at 2026-05-04T11:00:00Z and waits, because pod shop/web has the annotation " +
			"karpenter.sh/do-not-disrupt"},
		"a duration on a Node, which Karpenter ignores": {func(c *cluster) {
			c.nodes["a"].Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "4h"}
			c.nodes["c"].Status.Conditions[0].Status = corev1.ConditionUnknown
		}, begins + "which has not been ready since 2026-05-04T11:00:00Z"},
		"a node that is not ready": {func(c *cluster) {
			c.nodes["c"].Status.Conditions[0].Status = corev1.ConditionUnknown
		}, begins + "which has not been ready since 2026-05-04T11:00:00Z"},
		"a drain that has just begun": {func(c *cluster) {
			c.deletedSince("c", time.Minute)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
		}, ""},
		"a pod that may be evicted": {func(c *cluster) { c.deletedSince("c", time.Hour) }, ""},
		"a Linode that is being removed": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
			c.claims["c"].StatusConditions().SetTrue(karpv1.ConditionTypeInstanceTerminating)
		}, ""},
		"a budget with room": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
			c.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "2"}}
		}, ""},
		"a budget of none": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
			c.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
		}, ""},
		"no consolidation": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
			c.pool.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
		}, ""},
		"no empty node": {func(c *cluster) {
			c.deletedSince("c", time.Hour)
			c.budgets = []*policyv1.PodDisruptionBudget{strict("web")}
			for _, name := range []string{"a", "b"} {
				c.claims[name].StatusConditions().SetFalse(karpv1.ConditionTypeConsolidatable, "TooSoon", "")
			}
		}, ""},
		"nothing leaves": {func(*cluster) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tt.change(c)
			if got := c.kept(t); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAMessageIsShortHoweverManyNodesThereAre(t *testing.T) {
	use := leaving.Use{Allowed: 2}
	for _, name := range strings.Split("abcdefghij", "") {
		use.Empty = append(use.Empty, name)
		use.By = append(use.By, leaving.Node{Name: "x" + name, Since: now.Add(-time.Hour)})
	}
	got := use.Kept(now)
	if !strings.Contains(got, "(a, b, c, 7 more)") || strings.Count(got, "not been ready since") != 3 {
		t.Error(got)
	}
}
