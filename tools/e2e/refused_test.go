package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	e := start(t, "refused", "enterprise", nil)
	e.scenario(t, "a refused class is tried once, also after a crash, and keeps no other NodePool waiting", refusedOnce)
}

// refusedOnce deletes the firewall of a class that has been checked: LKE refuses every pool of it from then on. Karpenter plans nothing
// while a launch is repeated.
func refusedOnce(t *testing.T, e *environment) {
	g, ctx := NewWithT(t), t.Context()
	firewall := e.Sim.AddFirewall(linodesim.FirewallSpec{Label: "gone", InboundPolicy: "DROP", OutboundPolicy: "ACCEPT"})
	e.apply(t, "linodenodeclass.yaml")
	refused := func(spec string) string {
		return fmt.Sprintf(`
apiVersion: karpenter.k8s.linode/v1alpha1
kind: LinodeNodeClass
metadata: {name: refused}
spec: %s
`, spec)
	}
	e.apply(t, refused(fmt.Sprintf("{firewallID: %d}", firewall)))
	classes := map[string]string{"healthy": "default", "first": "refused", "second": "refused"}
	for name, class := range classes {
		e.apply(t, nodePool(name, fmt.Sprintf(`
    metadata:
      labels: {team: %s}
    spec:`, name), class))
		e.nodePoolReady(t, name)
	}
	var none struct{}
	e.request(t, http.MethodDelete, fmt.Sprintf("/networking/firewalls/%d", firewall), "", &none)
	refusals := func() int {
		return e.calls(answeredWith(http.StatusBadRequest), func(c linodesim.CallCount) bool { return c.Method == http.MethodPost })
	}
	deploy := func(name string) {
		e.apply(t, deployment(name, 1, fmt.Sprintf(`
      nodeSelector: {team: %s}`, name)))
	}
	deploy("first")
	deploy("healthy")
	e.settled(t, "healthy", 1)
	e.hasCondition(t, &karpv1.NodePool{}, "first", "InstanceTypesAvailable", "firewall")
	deploy("second") // afterwards: launches that are planned together are requested together
	e.hasCondition(t, &karpv1.NodePool{}, "second", "InstanceTypesAvailable", "firewall")
	e.hasCondition(t, &v1alpha1.LinodeNodeClass{}, "refused", v1alpha1.ConditionLaunchesAccepted, "firewall")
	g.Expect(refusals()).To(Equal(1), "requests that were refused, of two NodePools of the class")

	g.Eventually(ctx, func(g Gomega) {
		kept := &corev1.ConfigMap{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "karpenter-learned-capacity"}, kept)).To(Succeed())
		g.Expect(kept.Annotations).To(HaveKeyWithValue("karpenter.k8s.linode/refused-launches", ContainSubstring("firewall_id")))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.Operator.Kill()
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	e.scale(t, "healthy", 3)
	e.settled(t, "healthy", 3)
	g.Expect(refusals()).To(Equal(1), "requests that were refused, after a crash")

	e.apply(t, refused("{}"))
	e.settled(t, "first", 1)
	e.settled(t, "second", 1)
	g.Expect(refusals()).To(Equal(1))
}

// hasCondition waits until a NodePool or class has a condition that is False, with a word in its message.
func (e *environment) hasCondition(t *testing.T, object status.Object, name, condition, word string) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		g.Expect(e.kube.Get(t.Context(), client.ObjectKey{Name: e.named(name)}, object)).To(Succeed())
		g.Expect(object.GetConditions()).To(ContainElement(And(HaveField("Type", condition), HaveField("Status", metav1.ConditionFalse),
			HaveField("Message", ContainSubstring(word)))), name)
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}
