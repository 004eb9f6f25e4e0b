package e2e_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

// silence is longer than the operator waits for a Linode whose purchase LKE has accepted, with core's pauses between two calls of Create.
const silence = 5 * time.Minute

// TestSilence has a cluster of its own: it waits for longer than most scenarios, and in this time core plans nothing for other pods.
func TestSilence(t *testing.T) {
	t.Parallel()
	e := start(t, "silence", "enterprise", soonCollected())
	e.scenario(t, "LKE accepts a plan and makes no Linode of it", silentPlan)
}

// silentPlan: the region has no capacity for the cheapest plan, and LKE Enterprise does not report that. The NodeClaim names both
// causes that there can be, another plan is bought, the NodePool and an alert show why, and what comes late is removed.
func silentPlan(t *testing.T, e *environment) {
	const silent, next = "g6-standard-1", "g6-standard-2"
	ctx, g := t.Context(), NewWithT(t)
	server, err := prometheus.Start(e.Operator.MetricsURL(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	e.Sim.RefuseCapacity(linodesim.NoCapacity{Type: silent, Silent: true})
	t.Cleanup(e.Sim.RestoreCapacity)
	e.nodePool(t, nodePoolSpec{types: []string{silent, next}})
	refused, began := e.calls(answeredWith(http.StatusBadRequest)), time.Now()
	e.apply(t, deployment("waiting", 1, ""))
	bothCauses := And(ContainSubstring("no capacity"), ContainSubstring("the account's limit of Linodes or vCPUs"))

	g.Eventually(ctx, func(g Gomega) []string {
		var launching []string
		for _, claim := range e.nodeClaims(ctx, g) {
			if launched := claim.StatusConditions().Get(karpv1.ConditionTypeLaunched); launched != nil {
				launching = append(launching, launched.Message)
			}
		}
		return launching
	}).WithTimeout(silence).WithPolling(interval).Should(ContainElement(bothCauses), "a NodeClaim's condition Launched")
	t.Logf("the NodeClaim names both causes after %s", time.Since(began).Round(time.Second))

	g.Eventually(ctx, func(g Gomega) []string { return e.types(ctx, g) }).WithTimeout(silence).WithPolling(interval).
		Should(Equal([]string{next}))
	t.Logf("another plan is there after %s", time.Since(began).Round(time.Second))
	e.event(t, "NodePool", "default", "PurchaseOverdue", silent, "no capacity", "limit of Linodes or vCPUs")
	g.Eventually(ctx, func(g Gomega) {
		nodePool := &karpv1.NodePool{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, nodePool)).To(Succeed())
		delivered := nodePool.StatusConditions().Get(nodepoolstatus.ConditionDelivered)
		g.Expect(delivered.IsFalse()).To(BeTrue(), "%+v", delivered)
		g.Expect(delivered.Message).To(And(bothCauses, ContainSubstring(silent), Not(ContainSubstring(next))))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	rules := filepath.Join(repositoryRoot(t), "charts", "karpenter", "files", "alerts.yaml")
	g.Eventually(ctx, func(g Gomega) {
		alerts, err := server.Evaluate(ctx, rules)
		g.Expect(err).NotTo(HaveOccurred())
		at := slices.IndexFunc(alerts, func(a prometheus.Alert) bool { return a.Name == "KarpenterLinodePurchaseOverdue" })
		g.Expect(at).To(BeNumerically(">=", 0))
		g.Expect(alerts[at].Active).NotTo(BeEmpty())
	}).WithTimeout(patience).WithPolling(time.Second).Should(Succeed(), "the alert")
	if got := e.calls(answeredWith(http.StatusBadRequest)) - refused; got != 0 {
		t.Errorf("the API refused %d requests; LKE was to say nothing", got)
	}

	e.Sim.RestoreCapacity()
	e.settled(t, "waiting", 1)
	e.matched(t, 1)
}
