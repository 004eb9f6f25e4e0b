package nodepoolstatus_test

import (
	"strings"
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
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
)

// advised reconciles a NodePool, and returns the events and when it is looked at again.
func advised(t *testing.T, change func(*karpv1.NodePool), others ...client.Object) (told, time.Duration) {
	t.Helper()
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	change(pool)
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(others, pool)...).WithStatusSubresource(pool).Build()
	events := &told{}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	result, err := nodepoolstatus.NewController(kube, &provider{}, working, events, true).Reconcile(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	return *events, result.RequeueAfter
}

func notReadySince(age time.Duration, reason, message string) func(*karpv1.NodePool) {
	return func(p *karpv1.NodePool) {
		since := metav1.NewTime(time.Now().Add(-age))
		p.Spec.Template.Spec.NodeClassRef.Name = "deflt"
		p.Status.Conditions = []status.Condition{
			{Type: karpv1.ConditionTypeNodeClassReady, Status: metav1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: since},
			{Type: status.ConditionReady, Status: metav1.ConditionFalse, Reason: "UnhealthyDependents", LastTransitionTime: since},
		}
	}
}

func requiring(key string, values ...string) func(*karpv1.NodePool) {
	return func(p *karpv1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, karpv1.NodeSelectorRequirementWithMinValues{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: values,
		})
	}
}

func TestWhatCoreLeavesOutInSilenceIsAnEventOnTheNodePool(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for name, tt := range map[string]struct {
		change func(*karpv1.NodePool)
		others []client.Object
		want   string // the one event; "" = none
	}{
		"a NodePool of this provider": {func(*karpv1.NodePool) {}, nil, ""},
		"a class of another kind": {func(p *karpv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Kind = "EC2NodeClass" }, nil,
			`UnknownNodeClass: spec.template.spec.nodeClassRef has group "karpenter.k8s.linode" and kind "EC2NodeClass", and this Karpenter serves group "karpenter.k8s.linode" and kind "LinodeNodeClass" only`},
		"a class of another group": {func(p *karpv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Group = "karpenter.linode.com" }, nil,
			`UnknownNodeClass: spec.template.spec.nodeClassRef has group "karpenter.linode.com"`},
		"a class that another provider in the cluster serves": {func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.NodeClassRef.Group = "karpenter.k8s.aws"
			p.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeNodeClassReady, Status: metav1.ConditionTrue,
				LastTransitionTime: metav1.Now()}}
		}, nil, ""},
		"a label of AWS's provider": {requiring("karpenter.k8s.aws/instance-cpu", "4"), nil,
			"LabelOfOtherProvider: the requirement karpenter.k8s.aws/instance-cpu = 4 has no effect on plans, because its label belongs to " +
				"another provider; use karpenter.k8s.linode/instance-cpu"},
		"one that has no equivalent": {requiring("karpenter.k8s.aws/instance-hypervisor", "nitro"), nil,
			"LabelOfOtherProvider: the requirement karpenter.k8s.aws/instance-hypervisor = nitro has no effect on plans, because its " +
				"label belongs to another provider; no label of this provider means the same: remove the requirement"},
		"a user's own label": {requiring("example.com/team", "payments"), nil, ""},
		"not ready, its class misspelt": {notReadySince(time.Minute, "NodeClassNotFound", "NodeClass not found on cluster"),
			[]client.Object{class},
			"NodePoolNotReady: the NodePool gets no nodes: NodeClassReady is false, NodeClassNotFound: NodeClass not found on cluster. " +
				"LinodeNodeClass deflt does not exist. Similar: default"},
		"not ready, no class at all": {notReadySince(time.Minute, "NodeClassNotFound", "NodeClass not found on cluster"), nil,
			"NodePoolNotReady: the NodePool gets no nodes: NodeClassReady is false, NodeClassNotFound: NodeClass not found on cluster. " +
				"LinodeNodeClass deflt does not exist; the cluster has no LinodeNodeClass"},
		"not ready for a moment": {notReadySince(2*time.Second, "NodeClassReadinessUnknown", "Node Class Readiness Unknown"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			events, again := advised(t, tt.change, tt.others...)
			switch {
			case tt.want == "" && len(events) > 0, tt.want != "" && len(events) != 1:
				t.Errorf("events %q", events)
			case tt.want != "" && !strings.HasPrefix(events[0], tt.want):
				t.Errorf("got  %s\nwant %s", events[0], tt.want)
			}
			if again <= 0 {
				t.Error("it is not looked at again: an event goes after an hour")
			}
		})
	}
}

func TestAShortWaitForReadinessIsFollowedUp(t *testing.T) {
	_, again := advised(t, notReadySince(2*time.Second, "NodeClassReadinessUnknown", "Node Class Readiness Unknown"))
	if again > 8*time.Second || again < 5*time.Second {
		t.Errorf("looked at again after %s, want at 10 s", again)
	}
}
