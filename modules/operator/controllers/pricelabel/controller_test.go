package pricelabel_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/pricelabel"
)

// pricedCatalog is read while a test changes its prices.
type pricedCatalog chan map[string]float64

func (c pricedCatalog) HourlyUSD(plan string) (float64, bool) {
	all := <-c
	c <- all
	return all[plan], all[plan] > 0
}

var _ = Describe("The label with a node's price", func() {
	labelled := func(name string, labels map[string]string) *corev1.Node {
		GinkgoHelper()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		Expect(Kube.Create(context.Background(), node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(Kube.Delete(ctx, node))).To(Succeed()) })
		return node
	}
	price := func(node *corev1.Node) func() string {
		return func() string {
			Expect(Kube.Get(context.Background(), client.ObjectKeyFromObject(node), node)).To(Succeed())
			return node.Labels[pricelabel.Label]
		}
	}

	It("is on Karpenter's nodes, follows the price, and is on no other node", func(ctx context.Context) {
		catalog := make(pricedCatalog, 1)
		catalog <- map[string]float64{"g6-standard-2": 0.036, "g9-unpriced": 0}
		Expect(pricelabel.NewController(Manager.GetClient(), catalog, 100*time.Millisecond).Register(ctx, Manager)).To(Succeed())
		ours := labelled("priced", map[string]string{karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "g6-standard-2"})
		unpriced := labelled("unpriced", map[string]string{karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "g9-unpriced"})
		theirs := labelled("theirs", map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-2"})
		Eventually(price(ours)).Should(Equal("0.036"))
		<-catalog
		catalog <- map[string]float64{"g6-standard-2": 0.04}
		Eventually(price(ours)).Should(Equal("0.04"))
		Expect(price(unpriced)()).To(BeEmpty())
		Expect(price(theirs)()).To(BeEmpty())
	})
})

func TestPriceLabel(t *testing.T) {
	Suite(t, "Price label", nil)
}
