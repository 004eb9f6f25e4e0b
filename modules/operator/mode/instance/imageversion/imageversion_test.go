package imageversion_test

import (
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/imageversion"
)

var wanted = imageversion.Wanted{Version: "v1.36.3", Image: "private/7", Hash: "now"}

// node is a NodeClaim with its Node.
type node struct {
	name, made, image, hash, kubelet string
	age                              time.Duration
	unregistered, foreign            bool
}

// joined is a node that was made as wanted, an hour ago.
func joined(kubelet string, change func(*node)) node {
	n := node{name: "a", made: "v1.36.1", image: wanted.Image, hash: wanted.Hash, kubelet: kubelet, age: time.Hour}
	if change != nil {
		change(&n)
	}
	return n
}

func (n node) objects() []client.Object {
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, CreationTimestamp: metav1.NewTime(time.Now().Add(-n.age)), Annotations: map[string]string{
			v1alpha1.AnnotationHash: n.hash, v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion, v1alpha1.AnnotationKubernetesVersion: n.made}},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}},
		Status: karpv1.NodeClaimStatus{ProviderID: "linode://" + n.name, NodeName: n.name, ImageID: n.image,
			Conditions: []status.Condition{{Type: karpv1.ConditionTypeRegistered, Status: metav1.ConditionTrue}}},
	}
	if n.unregistered {
		claim.Status.Conditions = nil
	}
	is := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID},
		Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: n.kubelet}}}
	if n.foreign {
		is.Spec.ProviderID = "linode://other"
	}
	return []client.Object{claim, is}
}

func differs(t *testing.T, nodes ...node) *imageversion.Differs {
	t.Helper()
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Spec.Bootstrap = &v1alpha1.Bootstrap{KubernetesVersion: v1alpha1.ClusterMinor}
	builder := fake.NewClientBuilder().WithScheme(scheme.Scheme)
	for field, of := range map[string]func(*karpv1.NodeClassReference) string{
		"spec.nodeClassRef.group": func(r *karpv1.NodeClassReference) string { return r.Group },
		"spec.nodeClassRef.kind":  func(r *karpv1.NodeClassReference) string { return r.Kind },
		"spec.nodeClassRef.name":  func(r *karpv1.NodeClassReference) string { return r.Name },
	} {
		builder.WithIndex(&karpv1.NodeClaim{}, field, func(o client.Object) []string {
			return []string{of(o.(*karpv1.NodeClaim).Spec.NodeClassRef)}
		})
	}
	for _, n := range nodes {
		builder.WithObjects(n.objects()...)
	}
	found, err := imageversion.NewReader(builder.Build()).Differs(t.Context(), class, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Only a node that was made as a new node would be made now proves anything about new nodes.
func TestANodeThatWasMadeAsWantedIsTheEvidence(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes []node
		have  string
	}{
		{"no node", nil, ""},
		{"of the minor version", []node{joined("v1.36.0", nil)}, ""},
		{"of an earlier one", []node{joined("v1.35.7", nil)}, "v1.35.7"},
		{"of a later one", []node{joined("v1.37.0", nil)}, "v1.37.0"},
		{"a vendor's text is left out", []node{joined("v1.35.7+<b>", nil)}, "v1.35.7"},
		{"made before the upgrade", []node{joined("v1.35.7", func(n *node) { n.made = "v1.35.7" })}, ""},
		{"made before the class followed", []node{joined("v1.35.7", func(n *node) { n.made = "" })}, ""},
		{"of another image", []node{joined("v1.35.7", func(n *node) { n.image = "private/6" })}, ""},
		{"of the class before", []node{joined("v1.35.7", func(n *node) { n.hash = "then" })}, ""},
		{"not registered", []node{joined("v1.35.7", func(n *node) { n.unregistered = true })}, ""},
		{"no version", []node{joined("latest", nil)}, ""},
		{"the node of another Linode", []node{joined("v1.35.7", func(n *node) { n.foreign = true })}, ""},
		{"the newest decides: the install step was mended",
			[]node{joined("v1.35.7", nil), joined("v1.36.3", func(n *node) { n.name, n.age = "b", time.Minute })}, ""},
		{"the newest decides: the install step broke",
			[]node{joined("v1.36.3", nil), joined("v1.35.7", func(n *node) { n.name, n.age = "b", time.Minute })}, "v1.35.7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := differs(t, test.nodes...)
			switch {
			case found == nil && test.have != "":
				t.Errorf("nothing is found, expected %s", test.have)
			case found != nil && (found.Have != test.have || found.Want != "v1.36" || found.Image != wanted.Image || found.Node == ""):
				t.Errorf("found %+v, expected %s", found, test.have)
			}
		})
	}
}
