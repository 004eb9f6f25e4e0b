package cloudprovider_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// A pod sized to the estimate never fits where LKE reserves more, and nodes would be bought up to the NodePool's limits.
func TestAPlanWhoseNodeWasTooSmallIsNotBoughtAgainForTheSamePods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := record.NewFakeRecorder(10)
		other := nodePool(nil)
		other.Name = "other"
		kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil), other).Build()
		pools := &scripted{t: t, claim: grant}
		p := cloudprovider.New(kube, over(pools), market(t),
			cloudprovider.Config{Region: "us-ord", Events: quietly(told)})
		wants := requests(corev1.ResourceMemory, "3500Mi")
		first, err := p.Create(t.Context(), nodeClaim(wants))
		if err != nil {
			t.Fatal(err)
		}
		plan := first.Labels[corev1.LabelInstanceTypeStable]
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke1-2-3"}}
		node.Status.Allocatable = corev1.ResourceList{
			"cpu": resource.MustParse("2"), "memory": resource.MustParse("3200Mi"), "ephemeral-storage": resource.MustParse("70Gi"),
			"pods": resource.MustParse("110"),
		}
		p.TooSmall(t.Context(), nodeClaim(wants, func(c *karpv1.NodeClaim) { c.Labels[corev1.LabelInstanceTypeStable] = plan }), node)
		if text := <-told.Events; !strings.Contains(text, "NodeTooSmall") || !strings.Contains(text, "3200Mi") {
			t.Errorf("told %q", text)
		}
		allocatable := func(pool string) string {
			of := nodePool(nil)
			of.Name = pool
			all, err := p.GetInstanceTypes(t.Context(), of)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range all {
				if it.Name == plan {
					if len(it.Offerings.Available()) == 0 {
						t.Errorf("%s is not offered to pods that it can hold", plan)
					}
					total := it.Allocatable()
					return total.Memory().String()
				}
			}
			return ""
		}
		if got := allocatable("default"); got != "3200Mi" {
			t.Errorf("the NodePool plans with %s", got)
		}
		if got := allocatable("other"); got == "3200Mi" {
			t.Error("one kubelet changes what other NodePools plan with")
		}
		second, err := p.Create(t.Context(), nodeClaim(wants, func(c *karpv1.NodeClaim) { c.UID = "uid-2" }))
		if err != nil && !core.IsInsufficientCapacityError(err) {
			t.Fatal(err)
		}
		if err == nil && second.Labels[corev1.LabelInstanceTypeStable] == plan {
			t.Error("the plan is bought again for the same pods")
		}
		time.Sleep(7 * time.Hour)
		if got := allocatable("default"); got == "3200Mi" {
			t.Error("it is remembered for ever")
		}
	})
}
