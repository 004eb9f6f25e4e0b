package e2e_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// The fault that the scenarios repeat: before version 0.9.6 one failing call of the VPC API let Linode's cloud controller manager take all
// Linodes for gone (pull request 570 in its repository), and it deletes the Node of each that it does not find
// (controllers/nodelifecycle/node_lifecycle_controller.go in k8s.io/cloud-provider).

func TestCCMFaultStandard(t *testing.T) { ccmFault(t) }

func TestCCMFaultInstance(t *testing.T) {
	e := ccmFault(t, plainLinodes(1))
	e.scenario(t, "a Linode is deleted behind Karpenter", goneLinode)
}

func ccmFault(t *testing.T, more ...func(*localcluster.Options)) *environment {
	t.Helper()
	t.Parallel()
	e := start(t, "ccm-fault-"+string(rune('a'+len(more))), "standard", nil, more...)
	e.scenario(t, "a cloud controller manager deletes all nodes while half of them are silent", allNodesDeleted)
	return e
}

// ccm is a client with the user name of Linode's cloud controller manager, which may do everything.
func (e *environment) ccm(t *testing.T) client.Client {
	t.Helper()
	config, err := e.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kube-system:ccm-linode", Groups: []string{"system:masters", "system:authenticated"},
	}
	ccm, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ccm
}

// faultFor is longer than core needs to begin a drain.
const faultFor = 20 * time.Second

func allNodesDeleted(t *testing.T, e *environment) {
	const app, n = "calm", 4
	e.nodePool(t, nodePoolSpec{})
	e.apply(t, deployment(app, n, apart(app)))
	e.settled(t, app, n)
	e.matched(t, n)
	ctx, g := t.Context(), NewWithT(t)
	simulated := slices.DeleteFunc(e.karpenterNodes(ctx, g), func(node corev1.Node) bool { return !simulatedByKwok(node) })
	g.Expect(len(simulated)).To(BeNumerically(">=", n/2), "nodes that can fall silent")
	for _, node := range simulated[:n/2] {
		e.fallSilent(t, node)
	}
	ccm, since, running, claims := e.ccm(t), e.now(), e.podUIDs(t, app), e.claimNames(ctx, g)
	g.Consistently(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(n))
		for _, node := range nodes {
			g.Expect(node.DeletionTimestamp).To(BeNil(), "node %s", node.Name)
			err := ccm.Delete(ctx, &node)
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "deleting node %s: %v", node.Name, err)
			g.Expect(err).To(MatchError(ContainSubstring("this Node has a NodeClaim")))
		}
		g.Expect(e.podUIDs(t, app)).To(Equal(running), "pods that run")
		g.Expect(e.claimNames(ctx, g)).To(Equal(claims))
	}).WithTimeout(faultFor).WithPolling(4 * interval).Should(Succeed())
	if gone := since.of(linodesim.InstanceGone); len(gone) > 0 || since.made() > 0 {
		t.Errorf("Linodes went: %v, and %d were made", gone, since.made())
	}
	for _, node := range simulated[:n/2] {
		e.setLabel(t, node.Name, plane.NodeLabel, plane.NodeLabelValue)
	}
	e.settled(t, app, n)
}

// podUIDs returns the UIDs of an app's pods that are not being deleted, sorted.
func (e *environment) podUIDs(t *testing.T, app string) []types.UID {
	t.Helper()
	var uids []types.UID
	for _, pod := range e.pods(t.Context(), NewWithT(t), app) {
		if pod.DeletionTimestamp.IsZero() {
			uids = append(uids, pod.UID)
		}
	}
	slices.Sort(uids)
	return uids
}

// fallSilent ends the simulated kubelet of a node, and lets the cluster notice at once.
func (e *environment) fallSilent(t *testing.T, node corev1.Node) {
	t.Helper()
	ctx := t.Context()
	e.setLabel(t, node.Name, plane.NodeLabel, "")
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		now := &corev1.Node{}
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(&node), now)).To(Succeed())
		before := now.DeepCopy()
		for i := range now.Status.Conditions {
			if c := &now.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", metav1.Now()
			}
		}
		g.Expect(e.kube.Status().Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))).To(Succeed())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// setLabel sets a label of a node; an empty value removes it.
func (e *environment) setLabel(t *testing.T, node, key, value string) {
	t.Helper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	text := `{"metadata": {"labels": {"` + key + `": null}}}`
	if value != "" {
		text = `{"metadata": {"labels": {"` + key + `": "` + value + `"}}}`
	}
	NewWithT(t).Expect(e.kube.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// goneLinode: the cloud controller manager may not delete the Node of a Linode that is really gone, and the operator does.
func goneLinode(t *testing.T, e *environment) {
	const app, n = "bereft", 2
	e.nodePool(t, nodePoolSpec{})
	e.apply(t, deployment(app, n, apart(app)))
	e.settled(t, app, n)
	e.matched(t, n)
	ctx, g := t.Context(), NewWithT(t)
	nodes := e.karpenterNodes(ctx, g)
	at := slices.IndexFunc(nodes, simulatedByKwok)
	g.Expect(at).To(BeNumerically(">=", 0), "a node that kwok simulates")
	victim := nodes[at]
	g.Expect(e.linode(t).DeleteInstance(ctx, instanceOf(t, e, victim))).To(Succeed())
	var silent, gone time.Time
	g.Eventually(ctx, func(g Gomega) {
		now := &corev1.Node{}
		err := e.kube.Get(ctx, client.ObjectKeyFromObject(&victim), now)
		if err == nil && silent.IsZero() && nodeutils.GetCondition(now, corev1.NodeReady).Status != corev1.ConditionTrue {
			silent = time.Now()
		}
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "node %s is gone", victim.Name)
		gone = time.Now()
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	t.Logf("the Node went %s after it had fallen silent", gone.Sub(silent).Round(time.Second))
	e.settled(t, app, n)
	e.matched(t, n)
}
