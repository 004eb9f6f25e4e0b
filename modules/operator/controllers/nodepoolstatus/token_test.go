package nodepoolstatus_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

var (
	refused atomic.Bool
	changed = make(chan event.GenericEvent, 1)
)

func TestConditionsOfNodePools(t *testing.T) {
	controllertest.Suite(t, "Conditions of NodePools", func(ctx context.Context) {
		controller := nodepoolstatus.NewController(controllertest.Manager.GetClient(), &provider{},
			nodepoolstatus.Token{Refused: refused.Load, Changed: changed}, controllertest.Recorded, true)
		Expect(controller.Register(ctx, controllertest.Manager)).To(Succeed())
	})
}

// The controller looks at a NodePool once in a minute, which is longer than Eventually waits.
var _ = It("shows a refused token on every NodePool until it works", func(ctx SpecContext) {
	nodePools := []*karpv1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, {ObjectMeta: metav1.ObjectMeta{Name: "other"}}}
	for _, nodePool := range nodePools {
		nodePool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
		nodePool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{}
		Expect(controllertest.Kube.Create(ctx, nodePool)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(controllertest.Kube.Delete(ctx, nodePool)).To(Succeed()) })
	}
	available := func(g Gomega, nodePool *karpv1.NodePool) (reason string) {
		g.Expect(controllertest.Kube.Get(ctx, client.ObjectKeyFromObject(nodePool), nodePool)).To(Succeed())
		if condition := nodePool.StatusConditions().Get(nodepoolstatus.ConditionAvailable); condition.IsFalse() {
			return condition.Reason
		}
		return ""
	}
	for _, is := range []bool{true, false, true} {
		refused.Store(is)
		changed <- event.GenericEvent{Object: &karpv1.NodePool{}}
		want := ""
		if is {
			want = launches.EventTokenRefused
		}
		for _, nodePool := range nodePools {
			Eventually(available).WithArguments(nodePool).Should(Equal(want), nodePool.Name)
		}
	}
	for _, nodePool := range nodePools {
		// A reconcile that reads a cache from before the last write publishes once more; core's recorder drops such repetitions.
		Expect(controllertest.Recorded.Count(nodePool.Name, launches.EventTokenRefused)).To(BeNumerically(">=", 2))
		Expect(strings.Join(controllertest.Recorded.Of(nodePool.Name), "\n")).To(ContainSubstring("set LINODE_TOKEN to a valid one"))
	}
})
