package v1alpha1_test

import (
	"context"
	"testing"
	"time"

	opstatus "github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const restricted = `spec: {tags: ["karpenter.sh/nodeclaim=x"]}`

// A class with a restricted tag that is older than the rule can still be changed in its other fields, and its status,
// which has the reason of Ready, is accepted by the API server.
func TestObjectOlderThanARule(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	ctx := context.Background()
	class := storeUnderOldRules(t)

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
	class.Spec.FirewallID = ptr(3)
	class.Finalizers = []string{v1alpha1.Finalizer}
	if err := api.Update(ctx, class); err != nil {
		t.Errorf("another field cannot be changed: %v", err)
	}
	class.Spec.Tags = []string{"karpenter.sh/nodeclaim=y"}
	if err := api.Update(ctx, class); err == nil {
		t.Error("another restricted tag was accepted")
	}
}

// storeUnderOldRules takes the rules on tags out of the CRD while a class with a restricted tag is stored.
func storeUnderOldRules(t *testing.T) *v1alpha1.LinodeNodeClass {
	t.Helper()
	ctx := context.Background()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := api.Get(ctx, client.ObjectKey{Name: "linodenodeclasses." + v1alpha1.Group}, crd); err != nil {
		t.Fatal(err)
	}
	rules := crd.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	items := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "tags", "items"}
	unstructured.RemoveNestedField(versions[0].(map[string]any), append(items, "x-kubernetes-validations")...)
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := api.Update(ctx, crd); err != nil {
		t.Fatal(err)
	}
	until(t, "the old rules are in force", func() bool { _, err := admit(t, restricted); return err == nil })
	class := &v1alpha1.LinodeNodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "restricted"},
		Spec:       v1alpha1.LinodeNodeClassSpec{Tags: []string{"karpenter.sh/nodeclaim=x"}},
	}
	if err := api.Create(ctx, class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Patch(ctx, class, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Error(err)
		}
		if err := api.Delete(ctx, class); err != nil {
			t.Error(err)
		}
	})
	rules.SetResourceVersion(crd.GetResourceVersion())
	if err := api.Update(ctx, rules); err != nil {
		t.Fatal(err)
	}
	until(t, "the rules are in force again", func() bool { _, err := admit(t, restricted); return err != nil })
	return class
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
