package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// withoutMetadata: Linodes join by the Metadata service. In a region without this service no Linode is created until the region has it.
func withoutMetadata(t *testing.T, e *environment) {
	e.Sim.WithdrawCapability(linodesim.NoCapability{Region: "us-ord", Capability: status.CapabilityMetadata})
	t.Cleanup(e.Sim.RestoreCapabilities)
	since, before := e.now(), e.creations()
	e.apply(t, class("{}"))
	e.apply(t, nodePoolSpec{}.yaml())
	e.apply(t, deployment("waiting", 1, ""))
	ctx, g := t.Context(), NewWithT(t)
	g.Eventually(ctx, func(g Gomega) {
		found := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, found)).To(Succeed())
		condition := found.StatusConditions().Get(v1alpha1.ConditionRegionReady)
		g.Expect(condition.IsFalse()).To(BeTrue(), "%+v", condition)
		g.Expect(condition.Reason).To(Equal(v1alpha1.ReasonRegionUnsuitable))
		g.Expect(condition.Message).To(And(ContainSubstring("us-ord"), ContainSubstring(status.CapabilityMetadata),
			ContainSubstring("spec.bootstrap"), ContainSubstring("use another region")))
		g.Expect(found.StatusConditions().Root().IsFalse()).To(BeTrue(), "the class is not ready")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.event(t, "LinodeNodeClass", "default", v1alpha1.ReasonRegionUnsuitable, status.CapabilityMetadata)
	e.event(t, "NodePool", "default", nodepoolstatus.EventNodePoolNotReady)
	if left := e.remains(ctx); left != "" || since.made() != 0 || e.creations() != before {
		t.Errorf("%d Linodes were requested and %d made in a region without Metadata, and there is %s", e.creations()-before, since.made(), left)
	}
	e.Sim.RestoreCapabilities()
	e.settled(t, "waiting", 1)
	e.matched(t, 1)
	e.oneEach(t, since, 1)
}

// creations counts the requests for a Linode, with any answer.
func (e *environment) creations() int {
	n := 0
	for _, call := range e.Sim.Calls() {
		if call.Method == http.MethodPost && call.Route == "/linode/instances" {
			n += call.N
		}
	}
	return n
}

// Versions that the API server reports to the operator before and after an upgrade. It stays as it is, and so do the kubelets' programs:
// only one release is here. A node installs the version that the API server reports.
const olderRelease, newerRelease = controlplane.KubernetesVersion + "+k3s1", "v1.37.1+k3s1"

// reported is the version that the API server reports.
type reported struct{ version atomic.Value }

func (r *reported) get() string {
	if version, changed := r.version.Load().(string); changed {
		return version
	}
	return olderRelease
}

// upgraded is a part that takes the version of the control plane up in the outage.
func upgraded(server *reported, o *outage, lane, name string, do func(t *testing.T, e *environment, upgrade func())) part {
	return o.part(lane, name, func(t *testing.T, e *environment, o *outage) {
		do(t, e, func() {
			t.Helper()
			o.begin(lane)
			server.version.Store(newerRelease)
			o.over(t, lane)
			ctx, g := t.Context(), NewWithT(t)
			g.Eventually(ctx, func(g Gomega) {
				found := &v1alpha1.LinodeNodeClass{}
				g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, found)).To(Succeed())
				g.Expect(found.Status.KubernetesVersion).To(Equal(newerRelease))
			}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
		})
	})
}

// outdated upgrades the control plane under nodes that joined two hours ago: their minor version is behind, and nodes that install the
// new version replace them. The test restarts the operator after the upgrade, because a running operator reads the version only every
// four minutes.
func outdated(t *testing.T, e *environment, upgrade func()) {
	spec := fmt.Sprintf(`{image: linode/debian12, authorizedUsers: [me], bootstrap: {type: k3s, apiServerEndpoint: "%s", tokenSecretRef: {namespace: kube-system, name: boots, key: agent-token}}}`, e.AgentEndpoint)
	twoApart(t, e, nodePoolSpec{budget: "1", class: spec})
	e.installed(t, olderRelease)
	g, ctx := NewWithT(t), t.Context()
	rolled(t, e, func() {
		upgrade()
		for _, claim := range e.nodeClaims(ctx, g) {
			e.aged(t, claim.Name, 2*time.Hour)
		}
		e.driftsByVersion(t) // the second waits for the replacement of the first
	})
	e.installed(t, newerRelease)
}

// followed upgrades the control plane under nodes of a class that follows it, but whose image does not have the new version: the node that
// replaces the first one shows that, the class has the reason, and the second one stays.
func followed(t *testing.T, e *environment, upgrade func()) {
	twoApart(t, e, nodePoolSpec{budget: "1",
		class: "{image: linode/debian12, authorizedUsers: [me], bootstrap: {kubernetesVersion: ClusterMinor}}"})
	g, ctx, since := NewWithT(t), t.Context(), e.now()
	upgrade()
	old := e.nodeClaims(ctx, g)
	e.aged(t, old[0].Name, 2*time.Hour)
	e.driftsByVersion(t)
	g.Eventually(ctx, func(g Gomega) {
		found := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, found)).To(Succeed())
		provided := found.StatusConditions().Get(v1alpha1.ConditionVersionProvided)
		g.Expect(provided.IsFalse()).To(BeTrue(), "%+v", provided)
		g.Expect(provided.Message).To(And(ContainSubstring("linode/debian12"), ContainSubstring("v1.37"),
			ContainSubstring(controlplane.KubernetesVersion)))
		g.Expect(found.StatusConditions().Root().IsTrue()).To(BeTrue(), "the class stays ready")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.matched(t, 2)
	e.aged(t, old[1].Name, 2*time.Hour)
	e.notDrifted(t)
	if since.made() != 1 {
		t.Errorf("%d Linodes were made, want one that shows the version of the image", since.made())
	}
}

// driftsByVersion waits until a NodeClaim has drifted because of its minor version.
func (e *environment) driftsByVersion(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		var reasons []string
		for _, claim := range e.nodeClaims(ctx, g) {
			if drifted := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted); drifted.IsTrue() {
				reasons = append(reasons, drifted.Reason)
			}
		}
		g.Expect(reasons).To(ContainElement(string(cloudprovider.DriftKubernetesVersion)))
	}).WithTimeout(patience).WithPolling(interval / 5).Should(Succeed())
}

// installed checks which release the Linodes have installed.
func (e *environment) installed(t *testing.T, release string) {
	t.Helper()
	for _, instance := range e.ourInstances() {
		NewWithT(t).Expect(instance.Console).To(ContainSubstring("k3s "+release+" is installed"), "console of %s", instance.Label)
	}
}

// priceCeiling: of three Linodes at 0.036 USD an hour two fit below 0.1. The third is not requested, and the NodePool has the reason; a
// cheaper one fits.
func priceCeiling(fields string) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		const app = "priced"
		spec := nodePoolSpec{class: specOf(fields), types: []string{"g6-standard-2"}, consolidate: "Never"}
		e.nodePool(t, spec)
		since, requested := e.now(), e.creations()
		e.apply(t, deployment(app, 3, apart(app)))
		e.event(t, "NodePool", "default", launches.EventCeilingReached, "maxHourlyPrice")
		ctx, g := t.Context(), NewWithT(t)
		running := func() int {
			return len(slices.DeleteFunc(e.pods(ctx, g, app), func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning }))
		}
		g.Eventually(ctx, running).WithTimeout(patience).WithPolling(interval).Should(Equal(2))
		if made, asked := since.made(), e.creations()-requested; made != 2 || asked != 2 {
			t.Errorf("%d Linodes were made by %d requests, want 2", made, asked)
		}
		spec.types = append(spec.types, "g6-standard-1")
		e.apply(t, spec.yaml())
		e.settled(t, app, 3)
		e.matched(t, 3)
		g.Expect(e.types(ctx, g)).To(Equal([]string{"g6-standard-1", "g6-standard-2", "g6-standard-2"}))
	}
}

// linodeLimit: the account's limit is independent of a plan's capacity.
func linodeLimit(t *testing.T, e *environment) {
	accountLimit(t, e)
	families, err := e.Operator.Metrics(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	refused := 0.0
	for _, metric := range families["karpenter_linode_offering_refusals_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "cause" && label.GetValue() != string(launches.AccountLimit) && metric.GetCounter().GetValue() > 0 {
				t.Errorf("plans are marked because of %s: %v", label.GetValue(), metric)
			}
		}
		refused += metric.GetCounter().GetValue()
	}
	if refused == 0 {
		t.Error("no plan is marked because of the limit")
	}
}

// leaderUnanswered freezes the leader while all its Linodes are made and none of its requests is answered: the next leader finds each
// Linode by its label. The first leader, when it wakes up, makes no second Linode and deletes none.
func leaderUnanswered(t *testing.T, e *environment) {
	const n = 5
	leader, other := e.leaderAndOther(t)
	since := e.now()
	unanswered := e.Sim.Fail(linodesim.Rule{Method: http.MethodPost, Route: "/linode/instances", Hang: true, AfterEffect: true})
	e.crowd(t, "unanswered", n)
	since.awaitClaimed(t, n)
	leader.Pause()
	e.Sim.Heal(unanswered)
	e.takesOver(t, other)
	e.settled(t, "unanswered", n)
	wakesAndEnds(t, leader)
	e.settled(t, "unanswered", n)
	since.exactly(t, n)
}
