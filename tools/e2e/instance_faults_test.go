package e2e_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedboot"
)

// TestInstanceFaults covers faults in instance mode between a NodeClaim's creation and its removal, on real kubelets that get
// their serving certificates from the cluster.
func TestInstanceFaults(t *testing.T) {
	t.Parallel()
	values := map[string]any{"settings": map[string]any{"instance": map[string]any{"approveServingCertificates": true}}}
	e := start(t, "instance-faults", "standard", values, func(o *localcluster.Options) { o.Mode = localcluster.Instance })
	e.scenario(t, "serving certificates, a token that is used twice, a volume that is still attached", joinedNode)
	e.scenario(t, "a boot that fails, and a token that has expired", failedBoot)
	e.scenario(t, "the hash of another CA", otherAuthority)
}

// TestInstancePlatform covers requests that the platform refuses or leaves unanswered, and classes that are refused.
func TestInstancePlatform(t *testing.T) {
	t.Parallel()
	e := start(t, "instance-platform", "standard", nil, func(o *localcluster.Options) { o.Mode = localcluster.Instance })
	e.scenario(t, "the answer to a POST of a Linode is lost", lostPOST)
	e.scenario(t, "a label that a foreign Linode has", takenLabel)
	e.scenario(t, "classes that cannot work", unusableClasses)
	e.scenario(t, "a VPC with NAT", nodeInVPC)
	e.scenario(t, "placement groups that are full", fullGroups)
	e.scenario(t, "the cheapest type cannot be had", nextType)
}

// joinedNode is a node that joined: its kubelet serves a certificate of the cluster's, its token lets no second Linode join, and its Linode
// stays until its volume is detached.
func joinedNode(t *testing.T, e *environment) {
	e.withClass(t, "{}", "one")
	claim := e.onlyClaim(t, nil, launched)
	e.settled(t, "one", 1)
	ctx, g := t.Context(), NewWithT(t)
	secret := client.ObjectKey{Namespace: bootstraptoken.Namespace, Name: bootstraptoken.SecretName(claim.UID)}
	g.Eventually(ctx, func() bool { return apierrors.IsNotFound(e.kube.Get(ctx, secret, &corev1.Secret{})) }).
		WithTimeout(patience).WithPolling(interval).Should(BeTrue(), "the token of a node that has registered is gone")
	second := e.linodeByHand(t, func(request *api.InstanceCreate) {
		service, err := simulatedboot.MetadataClient(ctx, e.MetadataURL, linodeID(t, claim))
		g.Expect(err).NotTo(HaveOccurred())
		text, err := service.GetUserData(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		text = base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(text, e.Name+"-"+claim.Name, "second")))
		request.Label, request.Image, request.RootPass = new("second"), new("linode/debian12"), new("not stored 4711!")
		request.Metadata = &api.InstanceMetadata{UserData: &text}
	})
	e.servingCertificate(t, e.Name+"-"+claim.Name)
	e.faulty(t, second, "could not find a JWS signature")
	g.Expect(apierrors.IsNotFound(e.kube.Get(ctx, client.ObjectKey{Name: "second"}, &corev1.Node{}))).To(BeTrue(),
		"no Node of the second Linode")
	e.attachedVolume(t, claim)
}

// attachedVolume deletes a node while a volume is attached to it. Its driver is another one than Linode's, which is simulated and would
// detach at once.
func (e *environment) attachedVolume(t *testing.T, claim *karpv1.NodeClaim) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "held"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "held.csi.example.com", NodeName: e.Name + "-" + claim.Name,
		Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("data")},
	}}
	g.Expect(e.kube.Create(ctx, attachment)).To(Succeed())
	e.scale(t, "one", 0)
	g.Expect(client.IgnoreNotFound(e.kube.Delete(ctx, &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}}))).To(Succeed())
	g.Eventually(ctx, func(g Gomega) {
		found := &karpv1.NodeClaim{}
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(claim), found)).To(Succeed())
		condition := found.StatusConditions().Get(karpv1.ConditionTypeVolumesDetached)
		g.Expect(condition.IsFalse() || condition.IsUnknown()).To(BeTrue(), "core waits for the volume")
		g.Expect(found.StatusConditions().Get(karpv1.ConditionTypeDrained).IsTrue()).To(BeTrue(), "the node is drained")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	has := func() bool {
		return slices.ContainsFunc(e.Sim.Snapshot().Instances,
			func(i linodesim.Instance) bool {
				return i.ID == linodeID(t, claim) && i.Status == linodesim.StatusRunning
			})
	}
	g.Consistently(ctx, has).WithTimeout(20*interval).WithPolling(interval).Should(BeTrue(), "the Linode runs while its volume is attached")
	g.Expect(e.kube.Delete(ctx, attachment)).To(Succeed())
	g.Eventually(ctx, has).WithTimeout(patience).WithPolling(interval).Should(BeFalse(), "the Linode goes when its volume is detached")
}

// failedBoot: the simulator's page has the output of the boot. The Linode is started again after its token has expired, and does not join
// then either. The NodeClaim is replaced, and the next node joins.
func failedBoot(t *testing.T, e *environment) {
	e.withClass(t, `{bootstrap: {preJoinCommands: ["test -f /tried || { touch /tried; install-the-driver --quick; }"]}}`, "boots")
	claim := e.onlyClaim(t, nil, launched)
	id := linodeID(t, claim)
	e.faulty(t, id, "install-the-driver: not found")
	ctx, g := t.Context(), NewWithT(t)
	g.Expect(e.page(t)).To(ContainSubstring("install-the-driver: not found"), "the simulator's page")

	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: bootstraptoken.Namespace, Name: bootstraptoken.SecretName(claim.UID)}
	g.Expect(e.kube.Get(ctx, key, secret)).To(Succeed(), "the token of a NodeClaim whose node has not registered")
	secret.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	g.Expect(e.kube.Update(ctx, secret)).To(Succeed())
	owner := e.linode(t)
	g.Expect(owner.ShutdownInstance(ctx, id)).To(Succeed())
	g.Eventually(ctx, func() error {
		return owner.BootInstance(ctx, id,
			api.InstanceBoot{})
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.faulty(t, id, "could not find a JWS signature")

	e.apply(t, class("{}"))
	e.overdue(t, claim.Name)
	e.onlyClaim(t, claim, launched)
	e.settled(t, "boots", 1)
	e.event(t, "NodePool", "default", "NodesNeverJoin", claim.Name)
	e.matched(t, 1)
}

// otherAuthority: a node refuses a cluster with another CA than the class names.
func otherAuthority(t *testing.T, e *environment) {
	e.withClass(t, fmt.Sprintf("{bootstrap: {caCertHashes: [%q]}}", "sha256:"+strings.Repeat("0", 64)), "careful")
	claim := e.onlyClaim(t, nil, launched)
	e.faulty(t, linodeID(t, claim), "none of the public keys")
	e.apply(t, class("{}"))
	e.overdue(t, claim.Name)
	e.onlyClaim(t, claim, launched)
	e.settled(t, "careful", 1)
	e.matched(t, 1)
}

// takenLabel: a person makes a Linode with the label of a NodeClaim's before the operator can. It stays as it is, and a NodeClaim of
// another name gets a Linode.
func takenLabel(t *testing.T, e *environment) {
	refused := e.Sim.Fail(linodesim.Rule{Method: http.MethodPost, Route: "/linode/instances",
		Answer: linodesim.Answer{Status: http.StatusServiceUnavailable}})
	e.withClass(t, "{}", "labelled")
	claim := e.onlyClaim(t, nil, func(*karpv1.NodeClaim) bool { return true })
	label := instances.Label(e.Name, claim.Name)
	foreign, err := e.Sim.AddInstance(linodesim.InstanceSpec{Label: label, Type: "g6-nanode-1"})
	if err != nil {
		t.Fatal(err)
	}
	e.isTheUsers(t, foreign)
	e.Sim.Heal(refused)
	e.onlyClaim(t, claim, launched)
	e.settled(t, "labelled", 1)
	e.matched(t, 1)
	for _, entry := range e.Sim.Audit() {
		if entry.InstanceID == foreign && entry.Actor.RequestID != "" {
			t.Errorf("the foreign Linode was changed by a request: %+v", entry)
		}
	}
}

// unusableClasses: the condition of each names the field and what to do; nothing is made from classes that are not ready.
func unusableClasses(t *testing.T, e *environment) {
	made := e.made()
	network, subnet := e.vpc(t, "unreachable")
	var long []string
	for i := range 10 { // a text that gzip does not make much smaller
		long = append(long, fmt.Sprintf("%q", "# "+noise(uint64(i), 4000)))
	}
	classes := []struct {
		name, spec, condition string
		status                metav1.ConditionStatus
		words                 []string
	}{
		{"too-large", "{bootstrap: {preJoinCommands: [" + strings.Join(long, ", ") + "]}}", v1alpha1.ConditionBootstrapReady,
			metav1.ConditionFalse,
			[]string{v1alpha1.ReasonBootstrapInvalid, "spec.bootstrap", "at most 16384 are allowed"}},
		{withoutKubeadm, "{image: linode/debian12}", v1alpha1.ConditionBootstrapReady, metav1.ConditionFalse,
			[]string{v1alpha1.ReasonImageUnsuitable, "spec.image", "kubeadm", "preJoinCommands"}},
		{"no-cloud-init", "{image: linode/slackware15.0}", v1alpha1.ConditionImageReady, metav1.ConditionFalse,
			[]string{v1alpha1.ReasonImageUnsuitable, "cloud-init"}},
		{"no-image", "{image: private/4711}", v1alpha1.ConditionImageReady, metav1.ConditionFalse,
			[]string{v1alpha1.ReasonImageNotFound, "spec.image"}},
		{"old-image", "{image: linode/debian11}", v1alpha1.ConditionImageReady, metav1.ConditionTrue,
			[]string{v1alpha1.ReasonImageDeprecated, "linode/debian11"}},
		{"no-vpc", "{vpcID: 999999, subnetID: 1}", v1alpha1.ConditionNetworkReady, metav1.ConditionFalse,
			[]string{v1alpha1.ReasonVPCNotFound, "spec.vpcID"}},
		{"unreachable", fmt.Sprintf("{vpcID: %d, subnetID: %d, interfaces: [{type: vpc, nat: false}]}", network, subnet),
			v1alpha1.ConditionNetworkReady, metav1.ConditionTrue,
			[]string{v1alpha1.ReasonMetadataUnreachable, "set nat: true"}},
	}
	for _, c := range classes {
		e.apply(t, strings.Replace(class(c.spec), "{name: default}", "{name: "+c.name+"}", 1))
		if c.status == metav1.ConditionFalse {
			e.apply(t, nodePool(c.name, fmt.Sprintf("\n    metadata:\n      labels: {class: %s}\n    spec:", c.name), c.name))
			e.apply(t, deployment(c.name, 1, fmt.Sprintf("\n      nodeSelector: {class: %s}", c.name)))
		}
	}
	ctx, g := t.Context(), NewWithT(t)
	for _, c := range classes {
		g.Eventually(ctx, func(g Gomega) {
			found := &v1alpha1.LinodeNodeClass{}
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: c.name}, found)).To(Succeed())
			condition := found.StatusConditions().Get(c.condition)
			g.Expect(condition).NotTo(BeNil())
			g.Expect(condition.Status).To(Equal(c.status), "%s of class %s: %s", c.condition, c.name, condition.Message)
			for _, word := range c.words {
				g.Expect(condition.Reason + ": " + condition.Message).To(ContainSubstring(word))
			}
			g.Expect(found.StatusConditions().Root().IsTrue()).To(Equal(c.status == metav1.ConditionTrue), "class %s is ready", c.name)
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
		for _, pod := range e.pods(ctx, g, c.name) {
			e.event(t, "Pod", pod.Name, "FailedScheduling")
		}
	}
	if left := e.remains(ctx); left != "" || e.made() != made {
		t.Errorf("%d Linodes were made, and there is %s", e.made()-made, left)
	}
}

// nodeInVPC has one interface, in the VPC, with a public address by NAT 1:1.
func nodeInVPC(t *testing.T, e *environment) {
	id, subnet := e.vpc(t, "with-nat")
	e.withClass(t, fmt.Sprintf("{vpcID: %d, subnetID: %d}", id, subnet), "inside")
	claim := e.onlyClaim(t, nil, launched)
	e.settled(t, "inside", 1)
	addresses, err := e.linode(t).GetInstanceIPs(t.Context(), linodeID(t, claim))
	if err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Expect(addresses.IPv4.VPC).NotTo(BeNil())
	g.Expect(*addresses.IPv4.VPC).To(HaveLen(1))
	inside := (*addresses.IPv4.VPC)[0]
	g.Expect(inside.SubnetID).To(Equal(subnet))
	g.Expect(*inside.Nat11).To(Equal(addresses.IPv4.Public[0].Address))
	e.matched(t, 1)
}

// fullGroups: a group without room is passed over, and where all are full the condition of the NodeClaim names the field.
func fullGroups(t *testing.T, e *environment) {
	g := NewWithT(t)
	var groups [2]int
	for i := range groups {
		groups[i] = asOwner[api.PlacementGroup](t, e, "/placement/groups", api.PlacementGroupCreate{
			Label: fmt.Sprint("group-", i), Region: "us-ord", PlacementGroupType: "anti_affinity:local", PlacementGroupPolicy: "flexible",
		}).ID
	}
	fill := func(group, n int) {
		for i := range n {
			e.linodeByHand(t, func(request *api.InstanceCreate) {
				request.Label = new(fmt.Sprintf("member-%d-%d", group, i))
				request.PlacementGroup = &api.InstancePlacementGroupReference{ID: group}
			})
		}
	}
	const most = 5 // of a group in this region
	fill(groups[0], most)
	e.withClass(t, fmt.Sprintf("{placementGroups: [{id: %d}, {id: %d}]}", groups[0], groups[1]), "grouped")
	e.settled(t, "grouped", 1)
	g.Expect(e.ourInstances()).To(HaveLen(1))
	ours := e.ourInstances()[0]
	g.Expect(ours.PlacementGroup).To(Equal(groups[1]))
	fill(groups[1], most-1)
	made := e.made()
	e.apply(t, deployment("beyond", 1, ""))
	e.event(t, "NodePool", "default", "InvalidRequest", "spec.placementGroups")
	g.Expect(e.made()).To(Equal(made), "Linodes made")
}
