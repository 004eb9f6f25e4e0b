package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// The suites of lke mode whose scenarios are the same for plain Linodes, and what only these have.

// plainLinodes are nodes of instance mode. Few of them have a real kubelet; kwok simulates all others from their registration on.
func plainLinodes(kubelets int) func(*localcluster.Options) {
	return func(o *localcluster.Options) { o.Mode, o.Kubelets = localcluster.Instance, kubelets }
}

// TestInstanceDisruption and TestInstanceLifetime are why Linodes end: they are not needed, they have drifted, they are too old, they are
// broken.
func TestInstanceDisruption(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-disruption", "standard", soonCollected(), plainLinodes(2))
	replaced := mergedBefore(inLane("drift", "a class gets another subnet, a firewall and another kubelet",
		driftedNetworkAndKubelet, swept))
	e.together(t, append(replaced,
		inLane("gpu", "a pod that asks for a GPU", gpuPod, swept),
		inLane("stranded", "a Linode without NodeClaim", strandedInstance, swept),
	)...)
}

func TestInstanceLifetime(t *testing.T) {
	t.Parallel()
	start(t, "plain-lifetime", "standard", withRepair(), plainLinodes(2)).together(t, aged()...)
}

// TestInstanceRestarts has scenarios that stop the operator.
func TestInstanceRestarts(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-restarts", "standard", soonCollected(), plainLinodes(5))
	e.scenario(t, "tags change in place, and a claim that is taken away is written again", plainTags)
	e.scenario(t, "a newer image is ignored, or replaces nodes", driftedImage)
	e.scenario(t, "uninstalled with nodes and installed again", reinstalled)
}

func TestInstanceReplicas(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-replicas", "standard", nil, plainLinodes(20), func(o *localcluster.Options) { o.Replicas = 2 })
	e.scenario(t, "the leader is killed in a scale-up of twenty", leaderKilled)
	e.scenario(t, "the leader stands still and wakes after another finished its work", leaderPaused(false))
	e.scenario(t, "the leader stands still and wakes in the middle of another's work", leaderPaused(true))
	e.scenario(t, "the leader stands still while its requests are answered", leaderUnanswered)
}

// The ceiling of TestInstanceFirewall has room for what its first scenario needs, five of the smallest Linodes.
func TestInstanceFirewall(t *testing.T) {
	t.Parallel()
	values := soonCollected()
	values["settings"] = map[string]any{"maxHourlyPrice": 0.1}
	e := start(t, "plain-firewall", "standard", values, plainLinodes(5))
	e.scenario(t, "a firewall replaces nodes, and is put back where it was taken off", keptBehindFirewall)
	e.scenario(t, "the hourly price of all Linodes has a ceiling", priceCeiling(""))
}

func TestInstanceCeilingVPC(t *testing.T) {
	t.Parallel()
	values := map[string]any{"settings": map[string]any{"maxHourlyPrice": 0.1}}
	e := start(t, "vpc-ceiling", "standard", values, plainLinodes(5), func(o *localcluster.Options) {
		o.CloudController = localcluster.CloudController{VPC: "prod-net"}
	})
	inVPC := fmt.Sprintf("vpcID: %d, subnetID: %d", e.VPCID, e.SubnetID)
	e.scenario(t, "the hourly price of all Linodes in a VPC has a ceiling", priceCeiling(inVPC))
}

func TestInstanceAccountLimit(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-limit", "standard", nil, plainLinodes(5))
	e.scenario(t, "the account's limit is reached", linodeLimit)
}

// plainTags changes the class's tags, and removes the claim from a Linode as a person may: the Linode stays, gets the class's new tags,
// and belongs to its NodeClaim again. The person's own tags stay, too.
func plainTags(t *testing.T, e *environment) {
	e.nodePool(t, nodePoolSpec{class: "{tags: [team=a]}"})
	e.apply(t, deployment("tagged", 1, ""))
	e.settled(t, "tagged", 1)
	e.matched(t, 1)
	g, ctx := NewWithT(t), t.Context()
	made := e.ourInstances()[0]
	g.Expect(made.Tags).To(ContainElement("team=a"))
	since := e.now()
	has := func(tags gomegatypes.GomegaMatcher) {
		t.Helper()
		g.Eventually(ctx, e.ourInstances).WithTimeout(patience).WithPolling(interval).
			Should(ConsistOf(And(HaveField("ID", made.ID), HaveField("Tags", tags))))
	}
	e.apply(t, class("{tags: [team=b]}"))
	has(And(ContainElement("team=b"), Not(ContainElement("team=a")), ContainElements(without(made.Tags, "team=a"))))

	e.restartedAndListed(t)
	isClaim := func(tag string) bool {
		return strings.HasPrefix(tag, "karpenter.") && !strings.Contains(tag, "/cluster=")
	}
	g.Expect(e.Sim.EditInstanceTags(made.ID, append(slices.DeleteFunc(slices.Clone(made.Tags), isClaim), "a person's"))).To(Succeed())
	has(ContainElements("a person's", "karpenter.sh/nodeclaim="+e.nodeClaims(ctx, g)[0].Name, HavePrefix("karpenter.k8s.linode/claim-uid=")))
	if since.made() != 0 {
		t.Errorf("%d Linodes were made for a change of tags", since.made())
	}
}

func without(tags []string, tag string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(other string) bool { return other == tag })
}

// restartedAndListed starts the operator again and waits until it has listed its Linodes. One that has written tags trusts
// lists only when they cannot lag behind its writes any more, minutes later.
func (e *environment) restartedAndListed(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	lists := func() int {
		return e.calls(answeredWith(http.StatusOK),
			func(c linodesim.CallCount) bool { return c.Method == http.MethodGet && c.Route == "/linode/instances" })
	}
	e.Operator.Stop(t.Context())
	before := lists()
	g.Expect(e.Operator.Start(t.Context())).To(Succeed())
	g.Eventually(t.Context(), lists).WithTimeout(patience).WithPolling(interval).Should(BeNumerically(">=", before+2))
}

// driftedNetworkAndKubelet changes fields of a class: fields that can be changed on a running Linode, and fields that cannot.
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
	team := corev1.Taint{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule}
	twoApart(t, e, nodePoolSpec{budget: "1", class: in(0, ""), more: []string{"taints: [{key: team, value: blue, effect: NoSchedule}]"}})
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
		g.Expect(node.Spec.Taints).To(Equal([]corev1.Taint{team}))
	}
}

// driftedImage publishes a newer image that the class's selector matches. New nodes would get it; running nodes are
// replaced when the class requires that.
func driftedImage(t *testing.T, e *environment) {
	older := e.image(t, "workers-1")
	newest := "{imageSelector: {label: workers-*}, imageDriftPolicy: %s}"
	twoApart(t, e, nodePoolSpec{budget: "1", class: fmt.Sprintf(newest, "Ignore")})
	hasImages(t, e, older)

	newer, since := e.image(t, "workers-2"), e.now()
	// The operator remembers images for minutes; a restarted operator reads them.
	e.Operator.Stop(t.Context())
	NewWithT(t).Expect(e.Operator.Start(t.Context())).To(Succeed())
	e.pinned(t, newer)
	for _, claim := range e.nodeClaims(t.Context(), NewWithT(t)) {
		e.annotate(t, &claim, "example.com/looked-at", "true") // triggers Karpenter's check for drift
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
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, class)).To(Succeed())
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

// hundredLinodes gives each of a hundred pods its own Linode: one for each NodeClaim, at the pace that the API allows. Each takes at most
// 2.2 requests beyond the requests of a cluster at rest, and the API refuses none.
func hundredLinodes(t *testing.T, e *environment) {
	const app, n = "spread", 100
	e.nodePool(t, nodePoolSpec{})
	since, calls, began := e.now(), e.Sim.CallsWith(e.SimToken), time.Now()
	e.apply(t, deployment(app, n, apart(app)))
	e.settled(t, app, n)
	e.matched(t, n)
	rest, took := atRest(began), time.Since(began).Round(time.Second)
	cost, routes := e.callsSince(calls)
	t.Logf("%d requests for %d Linodes in %s: %s", cost, n, took, routes)
	if most := n*22/10 + rest; cost > most {
		t.Errorf("%d requests were made for %d Linodes, want at most %d", cost, n, most)
	}
	if since.made() != n {
		t.Errorf("%d Linodes were made for %d NodeClaims", since.made(), n)
	}
	if n := e.calls(answeredWith(http.StatusTooManyRequests)); n > 0 {
		t.Errorf("the API refused %d requests for their rate", n)
	}
	since.paced(t, 20, 15*time.Second)
	e.tookOver(t, n-20)
}

// paced checks that in no window more Linodes were made than the API allows.
func (h history) paced(t *testing.T, most int, window time.Duration) {
	t.Helper()
	made := h.of(linodesim.InstanceCreated)
	for i := most; i < len(made); i++ {
		if between := made[i].At.Sub(made[i-most].At); between < window {
			t.Errorf("%d Linodes were made within %s, at most %d are allowed in %s", most+1, between, most, window)
		}
	}
	if len(made) > 1 {
		t.Logf("%d Linodes were made in %s", len(made), made[len(made)-1].At.Sub(made[0].At).Round(time.Second))
	}
}

// tookOver checks that kwok simulates at least so many nodes.
func (e *environment) tookOver(t *testing.T, least int) {
	t.Helper()
	nodes := e.karpenterNodes(t.Context(), NewWithT(t))
	real := slices.DeleteFunc(slices.Clone(nodes), simulatedByKwok)
	if got := len(nodes) - len(real); got < least {
		t.Errorf("kwok simulates %d of %d nodes, want at least %d", got, len(nodes), least)
	}
	t.Logf("%d real kubelets", len(real))
}

func simulatedByKwok(node corev1.Node) bool {
	return node.Labels[plane.NodeLabel] == plane.NodeLabelValue
}
