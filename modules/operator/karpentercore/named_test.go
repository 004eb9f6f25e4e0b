package karpentercore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/controllers/state/informer"
	"sigs.k8s.io/karpenter/pkg/events"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

type recorded struct{ list []events.Event }

func (r *recorded) Publish(list ...events.Event) { r.list = append(r.list, list...) }

func node(name, id string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}
}

// ownNames names the node of NodeClaim b own-b.
var ownNames = karpentercore.ByName(func(claim string) string { return "own-" + claim })

// withIndexes is a client with core's indexes.
func withIndexes(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
		WithIndex(&karpv1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
			return []string{o.(*karpv1.NodeClaim).Status.ProviderID}
		}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
}

// A Node of another name than the NodeClaim's is never its node, also when it is there first; the right one is.
func TestOnlyTheNodeOfTheNodeClaimsNameIsItsNode(t *testing.T) {
	const id = "linode://2"
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
			kube := withIndexes(append(test.nodes, claim, node("other", "linode://9"))...)
			events := &recorded{}
			found, err := nodeclaimutils.NodeForNodeClaim(t.Context(),
				karpentercore.NamedClient(kube, ownNames, events), claim)
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
	named := karpentercore.NamedClient(kube, karpentercore.ByName(strings.ToUpper), &recorded{})
	if err := named.List(t.Context(), nodes); err != nil || len(nodes.Items) != 1 {
		t.Errorf("%d Nodes, %v", len(nodes.Items), err)
	}
}

// victim is a NodeClaim with its own healthy node, and the Node of another node that claims its provider ID: with the labels and the
// finalizer of a registered one, not ready for an hour.
func victim() (claim *karpv1.NodeClaim, own, impostor *corev1.Node) {
	const id = "linode://2"
	claim = &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}}
	claim.Status.ProviderID, claim.Status.NodeName = id, "own-b"
	own, impostor = node("own-b", id), node("own-a", id)
	for n, ready := range map[*corev1.Node]corev1.ConditionStatus{own: corev1.ConditionTrue, impostor: corev1.ConditionUnknown} {
		n.Labels = map[string]string{karpv1.NodePoolLabelKey: "default", karpv1.NodeInitializedLabelKey: "true"}
		n.Finalizers = []string{karpv1.TerminationFinalizer}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready,
			LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
	}
	return claim, own, impostor
}

// A node's report about itself does not become a condition of another NodeClaim's node: core would repair that other node.
func TestTheConditionsOfAnImpostorDoNotReachRepair(t *testing.T) {
	for name, order := range map[string][]string{
		"the impostor comes last": {"own-b", "own-a"}, "first": {"own-a", "own-b"}, "alone, before the node": {"own-a"},
	} {
		t.Run(name, func(t *testing.T) {
			claim, own, impostor := victim()
			if len(order) == 1 {
				claim.Status.NodeName = ""
			}
			kube, log := withIndexes(claim, own, impostor), &recorded{}
			hiding := karpentercore.NamedClient(kube, ownNames, log)
			cluster := state.NewCluster(clock.RealClock{}, hiding, nil)
			cluster.UpdateNodeClaim(claim)
			reconciler := informer.NewNodeController(hiding, cluster)
			for _, name := range order {
				if _, err := reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
					t.Fatal(err)
				}
			}
			for found := range cluster.Nodes() {
				if found.NodeClaim == nil || found.NodeClaim.Name != "b" {
					continue
				}
				if found.Node != nil && found.Node.Name != "own-b" {
					t.Errorf("the node of NodeClaim b is %s", found.Node.Name)
				}
				if (found.Node == nil) != (len(order) == 1) {
					t.Errorf("NodeClaim b has the node %v", found.Node)
				}
			}
			if len(log.list) == 0 || log.list[0].Reason != karpentercore.EventNodeRefused {
				t.Errorf("the events are %+v", log.list)
			}
		})
	}
}

// A kubelet may delete its own Node. That of an impostor takes no NodeClaim with it.
func TestTheDeletionOfAnImpostorKeepsTheNodeClaim(t *testing.T) {
	claim, own, impostor := victim()
	kube := withIndexes(claim, own, impostor)
	hiding := karpentercore.NamedClient(kube, ownNames, &recorded{})
	if err := kube.Delete(t.Context(), impostor); err != nil {
		t.Fatal(err)
	}
	read := &corev1.Node{}
	if err := hiding.Get(t.Context(), client.ObjectKeyFromObject(impostor), read); err != nil {
		t.Fatal(err)
	}
	if claims, err := nodeutils.GetNodeClaims(t.Context(), hiding, read); err != nil || len(claims) > 0 {
		t.Errorf("core takes the Node for that of %d NodeClaims, %v", len(claims), err)
	}
	if err := hiding.Get(t.Context(), client.ObjectKeyFromObject(own), read); err != nil {
		t.Fatal(err)
	}
	if claims, err := nodeutils.GetNodeClaims(t.Context(), hiding, read); err != nil || len(claims) != 1 || claims[0].Name != "b" {
		t.Errorf("the own Node has the NodeClaims %v, %v", claims, err)
	}
}
