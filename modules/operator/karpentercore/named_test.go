package karpentercore_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

type recorded struct{ list []events.Event }

func (r *recorded) Publish(list ...events.Event) { r.list = append(r.list, list...) }

// A Node of another name than the NodeClaim's is never its node, also when it is there first; the right one is.
func TestOnlyTheNodeOfTheNodeClaimsNameIsItsNode(t *testing.T) {
	const id = "linode://2"
	node := func(name, id string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}
	}
	for name, test := range map[string]struct {
		nodes   []client.Object
		change  func(*karpv1.NodeClaim)
		want    string
		refused []string
	}{
		"its own":           {nodes: []client.Object{node("own-b", id)}, want: "own-b"},
		"another's":         {nodes: []client.Object{node("own-a", id)}, refused: []string{"own-a"}},
		"another's and its": {nodes: []client.Object{node("own-a", id), node("own-b", id)}, want: "own-b", refused: []string{"own-a"}},
		"registered before under another name": {nodes: []client.Object{node("by-hand", id)}, want: "by-hand", change: func(c *karpv1.NodeClaim) {
			c.Status.NodeName = "by-hand"
			c.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
		}},
		"a name in the status alone": {nodes: []client.Object{node("own-a", id)}, refused: []string{"own-a"},
			change: func(c *karpv1.NodeClaim) { c.Status.NodeName = "own-a" }},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}}
			claim.Status.ProviderID = id
			if test.change != nil {
				test.change(claim)
			}
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(test.nodes, claim, node("other", "linode://9"))...).
				WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
				WithIndex(&karpv1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
					return []string{o.(*karpv1.NodeClaim).Status.ProviderID}
				}).Build()
			events := &recorded{}
			found, err := nodeclaimutils.NodeForNodeClaim(t.Context(),
				karpentercore.Named(kube, func(claim string) string { return "own-" + claim }, events), claim)
			if test.want == "" && !nodeclaimutils.IsNodeNotFoundError(err) || test.want != "" && (err != nil || found.Name != test.want) {
				t.Errorf("the node is %v, %v; expected %q", found, err, test.want)
			}
			var refused []string
			for _, e := range events.list {
				if e.Reason != karpentercore.EventNodeRefused || e.InvolvedObject.(*karpv1.NodeClaim).Name != "b" ||
					!strings.Contains(e.Message, "own-b") {
					t.Errorf("event %+v", e)
				}
				refused = append(refused, strings.Fields(e.Message)[1])
			}
			if !slices.Equal(refused, test.refused) {
				t.Errorf("reported are %q, expected %q", refused, test.refused)
			}
		})
	}
}

// Lists that are not by provider ID have all Nodes.
func TestOtherListsOfNodesAreWhole(t *testing.T) {
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "any"}}).Build()
	nodes := &corev1.NodeList{}
	if err := karpentercore.Named(kube, strings.ToUpper, &recorded{}).List(t.Context(), nodes); err != nil || len(nodes.Items) != 1 {
		t.Errorf("%d Nodes, %v", len(nodes.Items), err)
	}
}
