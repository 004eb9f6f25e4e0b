package launchfindings_test

import (
	"context"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/launchfindings"
)

// found are the findings about every class.
type found struct{ refused, version string }

func (f *found) ClassRefused(*v1alpha1.LinodeNodeClass) string { return f.refused }

func (f *found) VersionDiffers(context.Context, *v1alpha1.LinodeNodeClass) (string, error) {
	return f.version, nil
}

func TestAFindingIsACondition(t *testing.T) {
	ready := status.Condition{Type: status.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", Message: "its own text",
		LastTransitionTime: metav1.Now().Rfc3339Copy()}
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 2}}
	class.Status.Conditions = []status.Condition{ready}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).Build()
	provider := &found{}
	controller := launchfindings.NewController(kube, provider)
	for _, step := range []struct {
		found  found
		writes bool
	}{
		{found{}, false}, {found{refused: "no firewall 7"}, true}, {found{refused: "no firewall 7"}, false},
		{found{refused: "no firewall 8"}, true}, {found{"no firewall 8", "v1.35"}, true}, {found{"no firewall 8", "v1.35"}, false},
		{found{version: "v1.35"}, true}, {found{}, true}, {found{}, false},
	} {
		*provider = step.found
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			t.Fatal(err)
		}
		version := class.ResourceVersion
		result, err := controller.Reconcile(t.Context(), class)
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("%v, %v", result, err)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			t.Fatal(err)
		}
		if wrote := class.ResourceVersion != version; wrote != step.writes {
			t.Errorf("with %q: written %t", step.found, wrote)
		}
		shown, others := found{}, 0
		for _, condition := range class.Status.Conditions {
			switch {
			case condition.Type == v1alpha1.ConditionLaunchesAccepted && condition.IsFalse():
				shown.refused = condition.Message
			case condition.Type == v1alpha1.ConditionVersionProvided && condition.IsFalse():
				shown.version = condition.Message
			case condition.Message == ready.Message && condition.IsTrue():
				others++
			}
		}
		if shown != step.found || others != 1 {
			t.Errorf("with %q: %+v", step.found, class.Status.Conditions)
		}
	}
}
