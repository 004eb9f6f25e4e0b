package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

func TestCompatStandard(t *testing.T)   { compat(t, "standard") }
func TestCompatEnterprise(t *testing.T) { compat(t, "enterprise") }

// compat takes over from the alpha provider: its first steps, and manifests like its
// examples. The charts are installed as in the first steps,
// with settings.clusterName and apiToken.
func compat(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "compat", tier, nil)
	e.run(t, "the first steps", firstSteps)
	e.scenario(t, "NodePools and classes of all kinds", examples)
	e.scenario(t, "every field of a class", everyField)
}

func (e *environment) applyFile(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.ApplyFile(t.Context(), e.kube, path)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// firstSteps: a Deployment goes from 0 to 5, a node is deleted by hand, the
// Deployment is deleted, and the nodes go (run waits for that).
func firstSteps(t *testing.T, e *environment) {
	ctx, g, since := t.Context(), NewWithT(t), e.now()
	before := e.launched(t, "default")
	e.applyFile(t, "testdata/quickstart/1-nodepool.yaml")
	e.nodePoolReady(t, "default")
	e.applyFile(t, "testdata/quickstart/2-inflate.yaml")
	e.scale(t, "inflate", 5)
	e.settled(t, "inflate", 5)
	n := e.oneToOne(t)
	if n == 0 || since.made() != n {
		t.Errorf("%d instances were made for %d NodeClaims", since.made(), n)
	}
	node := e.karpenterNodes(ctx, g)[0]
	instance := instanceOf(t, e, node)
	g.Expect(e.kube.Delete(ctx, &node)).To(Succeed())
	since.awaitGone(t, instance)
	e.settled(t, "inflate", 5)
	e.matched(t, n)
	// Core may decide with a view of the Nodes that is older than the deletion. Then it makes one NodeClaim more and deletes it.
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.launched(t, "default")-before).To(Equal(since.made()), "an instance for each NodeClaim")
	}).
		WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// launched counts the NodeClaims of a NodePool that were ever launched, by core's events.
func (e *environment) launched(t *testing.T, nodePool string) int {
	t.Helper()
	names := map[string]bool{}
	for _, message := range e.messages(t, "NodeClaim", "", "Launched") {
		if name, _, _ := strings.Cut(message, ": "); strings.HasPrefix(name, e.named(nodePool)+"-") {
			names[name] = true
		}
	}
	return len(names)
}

// examples applies all that can be ready together, and a Deployment for each NodePool,
// whose pods choose it by its label.
func examples(t *testing.T, e *environment) {
	for _, file := range []string{"general-purpose", "region-and-taints", "gpu", "no-accelerators"} {
		e.applyFile(t, "testdata/alpha/"+file+".yaml")
	}
	chosen := map[string]func(g Gomega, node corev1.Node){
		"general-purpose": func(g Gomega, node corev1.Node) {
			g.Expect(node.Labels).To(HaveKeyWithValue("karpenter.k8s.linode/instance-class", Or(Equal("standard"), Equal("dedicated"))))
			g.Expect(node.Annotations).To(HaveKeyWithValue("example.com/owner", "platform"))
			g.Expect(node.Status.Capacity.Cpu().Value()).To(And(BeNumerically(">", 1), BeNumerically("<", 9)))
		},
		"tainted": func(g Gomega, node corev1.Node) {
			g.Expect(node.Spec.Taints).To(ContainElement(corev1.Taint{Key: "example.com/special", Value: "true",
				Effect: corev1.TaintEffectNoSchedule}))
			g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, "us-ord"))
			g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyRegion, "us-ord"))
		},
		"gpu": func(g Gomega, node corev1.Node) {
			g.Expect(node.Labels).To(HaveKeyWithValue("karpenter.k8s.linode/instance-gpu-count", "1"))
		},
		"plain": func(g Gomega, node corev1.Node) {
			g.Expect(node.Labels).NotTo(HaveKey("karpenter.k8s.linode/instance-gpu-count"))
		},
	}
	for name := range chosen {
		e.nodePoolReady(t, name)
		e.apply(t, deployment(name, 1, `
      nodeSelector: {example: `+name+`}
      tolerations: [{key: example.com/special, operator: Exists}]`))
	}
	for name, check := range chosen {
		e.settled(t, name, 1)
		g, ctx := NewWithT(t), t.Context()
		node := &corev1.Node{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.pods(ctx, g, name)[0].Spec.NodeName}, node)).To(Succeed())
		g.Expect(node.Labels).To(HaveKeyWithValue(karpv1.NodePoolLabelKey, name))
		check(g, *node)
	}
	e.matched(t, len(chosen))
}

// everyField: the API server keeps what it was given, field by field, and the
// operator reports its problems.
func everyField(t *testing.T, e *environment) {
	const file = "testdata/alpha/nodeclass-every-field.yaml"
	stored := e.applyFile(t, file)[0]
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	given := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &given.Object); err != nil {
		t.Fatal(err)
	}
	g, ctx := NewWithT(t), t.Context()
	g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
	g.Expect(stored.Object["spec"]).To(BeEquivalentTo(given.Object["spec"]))
	// The firewall does not exist, and Standard clusters accept no firewall.
	g.Eventually(ctx, func(g Gomega) {
		class := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(stored), class)).To(Succeed())
		g.Expect(class.StatusConditions().Get(v1alpha1.ConditionFirewallReady).IsFalse()).To(BeTrue())
		g.Expect(class.StatusConditions().Root().IsFalse()).To(BeTrue())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}
