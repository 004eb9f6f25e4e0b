package charttest

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// theCCM is the ServiceAccount of Linode's cloud controller manager: deploy/chart/templates/serviceaccount.yaml in its repository.
const theCCM = "system:serviceaccount:kube-system:ccm-linode"

// nodeWith is a Node that no kubelet has.
func nodeWith(name string, change func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/os": "linux"}}}
	change(node)
	return node
}

func ownedByNodeClaim(node *corev1.Node) {
	node.OwnerReferences = []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "default-x7k2p", UID: "1"}}
}

func ofNodePool(node *corev1.Node) {
	node.Labels["karpenter.sh/nodepool"], node.Spec.ProviderID = "default", "linode://94907002"
}

func TestACloudControllerManagerDeletesNoNodeWithANodeClaim(t *testing.T) {
	needServer(t)
	ctx := t.Context()
	for _, object := range mustRender(t, "karpenter", quickstart, `{fullnameOverride: keeper}`).objects {
		if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			if err := api.Create(ctx, object); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = api.Delete(context.Background(), object) })
		}
	}
	nodes := map[string]*corev1.Node{
		"owned": nodeWith("keeper-owned", ownedByNodeClaim), "labeled": nodeWith("keeper-labeled", ofNodePool),
		"user's":      nodeWith("keeper-users", func(n *corev1.Node) { n.Spec.ProviderID = "linode://1" }),
		"other owner": nodeWith("keeper-other", func(n *corev1.Node) { ownedByNodeClaim(n); n.OwnerReferences[0].APIVersion = "example.com/v1" }),
		"no provider ID": nodeWith("keeper-young", func(n *corev1.Node) {
			ofNodePool(n)
			n.Spec.ProviderID = ""
		}),
		"being deleted": nodeWith("keeper-deleted", func(n *corev1.Node) {
			ownedByNodeClaim(n)
			n.Finalizers = []string{"karpenter.sh/termination"}
		}),
	}
	for _, node := range nodes {
		if err := api.Create(ctx, node); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = api.Patch(context.Background(), node, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`)))
			_ = api.Delete(context.Background(), node)
		})
	}
	accepted(t, "the end of a node by an administrator", api.Delete(ctx, nodes["being deleted"]))
	ccm := as(t, apiConfig, theCCM, "system:masters", "system:authenticated")
	enforced(t, api)

	kept := []string{"owned", "labeled"}
	for name, node := range nodes {
		err := ccm.Delete(ctx, node, client.DryRunAll)
		if slices.Contains(kept, name) {
			refused(t, name, err, "this Node has a NodeClaim")
		} else {
			accepted(t, name, err)
		}
	}
	refused(t, "all nodes in one request", ccm.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels{"karpenter.sh/nodepool": "default"}),
		"this Node has a NodeClaim")
	for _, user := range []string{"admin", theController, "system:serviceaccount:kube-system:generic-garbage-collector"} {
		for _, name := range kept {
			accepted(t, name+" by "+user,
				as(t, apiConfig, user, "system:masters", "system:authenticated").Delete(ctx, nodes[name], client.DryRunAll))
		}
	}
}

func TestTheNodeDeletionPolicyCanBeSwitchedOff(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, `{nodeDeletionPolicy: {enabled: false}}`)
	for _, name := range r.names() {
		if strings.HasPrefix(name, "ValidatingAdmissionPolicy") && strings.HasSuffix(name, "-node-deletion") {
			t.Errorf("there is %s", name)
		}
	}
}
