package v1alpha1_test

import (
	"context"
	"testing"

	opstatus "github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A class with a restricted tag is admitted, and its status, which says why it is not Ready, is taken by the API server.
func TestStatusIsStored(t *testing.T) {
	ctx := context.Background()
	class := &v1alpha1.LinodeNodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "restricted"},
		Spec:       v1alpha1.LinodeNodeClassSpec{Tags: []string{"karpenter.sh/nodeclaim=x"}},
	}
	if err := api.Create(ctx, class); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.Delete(ctx, class); err != nil {
			t.Error(err)
		}
	}()
	for _, cluster := range []status.Cluster{
		{Mode: v1alpha1.ModeLKE, Tier: status.TierStandard, ControlPlaneVersion: "1.35"},
		{Mode: v1alpha1.ModeInstance, Region: "us-ord"},
	} {
		status.Apply(class, status.Evaluate(ctx, class, cluster, nil))
		if err := api.Status().Update(ctx, class); err != nil {
			t.Fatalf("%s mode: %v", cluster.Mode, err)
		}
		stored := &v1alpha1.LinodeNodeClass{}
		if err := api.Get(ctx, client.ObjectKeyFromObject(class), stored); err != nil {
			t.Fatal(err)
		}
		ready := stored.StatusConditions().Get(opstatus.ConditionReady)
		if !ready.IsFalse() || ready.Reason != v1alpha1.ReasonTagValidationFailed || ready.ObservedGeneration != stored.Generation {
			t.Errorf("%s mode: Ready is %v", cluster.Mode, ready)
		}
		class = stored
	}
}
