package refusedclass_test

import (
	"testing"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/refusedclass"
)

type refusing string

func (r *refusing) ClassRefused(*v1alpha1.LinodeNodeClass) string { return string(*r) }

func TestARefusedClassHasACondition(t *testing.T) {
	ready := status.Condition{Type: status.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", Message: "its own text",
		LastTransitionTime: metav1.Now().Rfc3339Copy()}
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 2}}
	class.Status.Conditions = []status.Condition{ready}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).Build()
	provider := new(refusing)
	controller := refusedclass.NewController(kube, provider)
	version := ""
	for _, step := range []struct {
		why    string
		writes bool
	}{{"", false}, {"no firewall 7", true}, {"no firewall 7", false}, {"no firewall 8", true}, {"", true}, {"", false}} {
		*provider = refusing(step.why)
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			t.Fatal(err)
		}
		version = class.ResourceVersion
		result, err := controller.Reconcile(t.Context(), class)
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("%v, %v", result, err)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			t.Fatal(err)
		}
		if wrote := class.ResourceVersion != version; wrote != step.writes {
			t.Errorf("with %q: written %t", step.why, wrote)
		}
		var others []status.Condition
		message := ""
		for _, condition := range class.Status.Conditions {
			if condition.Type == v1alpha1.ConditionLaunchesAccepted {
				message = condition.Message
				continue
			}
			others = append(others, condition)
		}
		if message != step.why || len(others) != 1 || others[0].Message != ready.Message || !others[0].IsTrue() {
			t.Errorf("with %q: %+v", step.why, class.Status.Conditions)
		}
	}
}
