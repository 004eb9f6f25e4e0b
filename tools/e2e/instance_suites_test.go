package e2e_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// The suites of lke mode whose scenarios are the same for plain Linodes, and what only these have.

// plainLinodes are nodes of instance mode on few real kubelets: kwok plays the others from their registration on.
func plainLinodes(kubelets int) func(*localcluster.Options) {
	return func(o *localcluster.Options) { o.Mode, o.Kubelets = localcluster.Instance, kubelets }
}

func TestInstanceDrift(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-drift", "standard", nil, plainLinodes(5))
	e.scenario(t, "a class gets another subnet, a firewall and another kubelet", driftedNetworkAndKubelet)
	e.scenario(t, "a newer image is ignored, or replaces nodes", driftedImage)
}

func TestInstanceLifetime(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-lifetime", "standard", map[string]any{
		"settings": map[string]any{"featureGates": map[string]any{"nodeRepair": true}},
	}, plainLinodes(1))
	e.scenario(t, "a node expires, and a budget forbids its drain", expiry)
	e.scenario(t, "nodes that stay broken are replaced", repair)
}

// driftedNetworkAndKubelet changes what a Linode is made with and cannot be changed on it.
func driftedNetworkAndKubelet(t *testing.T, e *environment) {
	g := NewWithT(t)
	firewall := e.Sim.AddFirewall(linodesim.FirewallSpec{Label: "workers", InboundPolicy: "DROP", OutboundPolicy: "ACCEPT"})
	var vpc struct {
		ID      int
		Subnets []struct{ ID int }
	}
	e.post(t, "/vpcs", `{"label": "workers", "region": "us-ord", "subnets": [{"label": "a", "ipv4": "10.1.0.0/24"}, {"label": "b", "ipv4": "10.2.0.0/24"}]}`, &vpc)
	in := func(subnet int, more string) string {
		return fmt.Sprintf("{vpcID: %d, subnetID: %d%s}", vpc.ID, vpc.Subnets[subnet].ID, more)
	}
	twoApart(t, e, nodePoolSpec{budget: "1", class: in(0, "")})
	// inSubnet: the Linodes that the API lists in a subnet, and no other, are the cluster's.
	inSubnet := func(subnet int) {
		t.Helper()
		var found struct{ Linodes []struct{ ID int } }
		e.get(t, fmt.Sprintf("/vpcs/%d/subnets/%d", vpc.ID, vpc.Subnets[subnet].ID), &found)
		g.Expect(found.Linodes).To(HaveLen(2), "Linodes in subnet %d", subnet)
	}
	inSubnet(0)
	rolled(t, e, func() { e.apply(t, class(in(1, ""))) })
	inSubnet(1)
	_, nodes := rolled(t, e, func() { e.apply(t, class(in(1, fmt.Sprintf(", firewallID: %d, kubelet: {maxPods: 37}", firewall)))) })
	inSubnet(1)
	for _, instance := range e.ourInstances() {
		g.Expect(instance.FirewallID).To(Equal(firewall))
	}
	for _, node := range nodes {
		g.Expect(node.Status.Capacity.Pods().Value()).To(BeEquivalentTo(37))
	}
}

// driftedImage publishes a newer image that the class's selector matches. New nodes would get it; those that run are
// replaced when the class asks for that.
func driftedImage(t *testing.T, e *environment) {
	older := e.image(t, "workers-1")
	newest := "{imageSelector: {label: workers-*}, imageDriftPolicy: %s}"
	twoApart(t, e, nodePoolSpec{budget: "1", class: fmt.Sprintf(newest, "Ignore")})
	hasImages(t, e, older)

	newer, since := e.image(t, "workers-2"), e.now()
	// The operator remembers images for minutes; one that starts reads them.
	e.Operator.Stop(t.Context())
	NewWithT(t).Expect(e.Operator.Start(t.Context())).To(Succeed())
	e.pinned(t, newer)
	for _, claim := range e.nodeClaims(t.Context(), NewWithT(t)) {
		e.annotate(t, &claim, "example.com/looked-at", "true") // Karpenter asks whether it has drifted
	}
	e.notDrifted(t)
	hasImages(t, e, older)
	if since.made() != 0 {
		t.Errorf("%d Linodes were made, although the class ignores newer images", since.made())
	}
	rolled(t, e, func() { e.apply(t, class(fmt.Sprintf(newest, "Replace"))) })
	hasImages(t, e, newer)
}

func hasImages(t *testing.T, e *environment, image string) {
	t.Helper()
	for _, instance := range e.ourInstances() {
		if instance.Image != image {
			t.Errorf("%s has the image %s, want %s", instance.Label, instance.Image, image)
		}
	}
}

// image makes a private image of a disk of the Linode that was set up by hand, and waits until it can be deployed.
func (e *environment) image(t *testing.T, label string) string {
	t.Helper()
	var disks struct{ Data []struct{ ID int } }
	e.get(t, fmt.Sprintf("/linode/instances/%d/disks", e.before.Instances[0].ID), &disks)
	var made struct{ ID, Status string }
	e.post(t, "/images", fmt.Sprintf(`{"disk_id": %d, "label": %q, "cloud_init": true}`, disks.Data[0].ID, label), &made)
	NewWithT(t).Eventually(t.Context(), func() string {
		e.get(t, "/images/"+url.PathEscape(made.ID), &made)
		return made.Status
	}).WithTimeout(patience).WithPolling(interval).Should(Equal("available"))
	return made.ID
}

// pinned waits until new nodes of the class default get an image.
func (e *environment) pinned(t *testing.T, image string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		class := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "default"}, class)).To(Succeed())
		g.Expect(class.Status.Images).To(ConsistOf(HaveField("ID", image)))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// notDrifted checks for a few of Karpenter's rounds that no NodeClaim counts as drifted.
func (e *environment) notDrifted(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Consistently(ctx, func(g Gomega) {
		for _, claim := range e.nodeClaims(ctx, g) {
			g.Expect(claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()).To(BeFalse(), "NodeClaim %s has drifted", claim.Name)
		}
	}).WithTimeout(10 * time.Second).WithPolling(interval).Should(Succeed())
}

func playedByKwok(node corev1.Node) bool { return node.Labels[plane.NodeLabel] == plane.NodeLabelValue }
