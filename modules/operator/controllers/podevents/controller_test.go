package podevents_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	_ "github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1" // NodePools in the scheme
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/podevents"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

// accepted is about a token that works.
func accepted() bool { return false }

type published []string

func (p *published) Publish(all ...events.Event) {
	for _, e := range all {
		*p = append(*p, e.InvolvedObject.(*corev1.Pod).Name+": "+e.Reason+": "+e.Message)
	}
}

func pending(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

func pool(name string, ready metav1.ConditionStatus, age time.Duration) *karpv1.NodePool {
	since := metav1.NewTime(time.Now().Add(-age))
	p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, conditionType := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady,
		status.ConditionReady} {
		p.Status.Conditions = append(p.Status.Conditions,
			status.Condition{Type: conditionType, Status: ready, Reason: "Test", LastTransitionTime: since})
	}
	return p
}

func TestAPendingPodIsToldThatNoNodePoolIsReady(t *testing.T) {
	static := pool("static", metav1.ConditionTrue, time.Hour)
	static.Spec.Replicas = ptr.To[int64](2)
	bound := pending("bound")
	bound.Spec.NodeName = "node"
	ofDaemonSet := pending("of-daemonset")
	ofDaemonSet.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
	for name, tt := range map[string]struct {
		pools []client.Object
		want  string // about the one pod that waits; "" = nothing
	}{
		"a NodePool that is ready": {[]client.Object{pool("good", metav1.ConditionTrue, time.Hour),
			pool("bad", metav1.ConditionFalse, time.Hour)}, ""},
		"none that is ready": {[]client.Object{pool("a", metav1.ConditionFalse, time.Hour),
			pool("b", metav1.ConditionUnknown, time.Hour)}, "no NodePool is ready (a, b); kubectl describe nodepools shows why"},
		"one that was ready a moment ago":   {[]client.Object{pool("a", metav1.ConditionFalse, time.Second)}, ""},
		"no NodePool":                       {nil, "there is no NodePool"},
		"a static NodePool, which is ready": {[]client.Object{static}, "there is no NodePool, or all NodePools are static"},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(tt.pools, pending("waiting"), bound, ofDaemonSet)...).
				WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
			told := &published{}
			controller := podevents.NewController(kube, &plans{}, accepted, told)
			if result, err := controller.Reconcile(t.Context()); err != nil || result.RequeueAfter == 0 {
				t.Fatal(result, err)
			}
			switch {
			case tt.want == "" && len(*told) != 0, tt.want != "" && len(*told) != 1:
				t.Errorf("told %q", *told)
			case tt.want != "" && (!strings.HasPrefix((*told)[0], "waiting: NoNodePoolReady: ") || !strings.Contains((*told)[0], tt.want)):
				t.Errorf("told %q, want %q", *told, tt.want)
			}
		})
	}
}

func TestAPodThatRequestsWhatNoNodeCanHaveIsTold(t *testing.T) {
	pod := pending("waiting")
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1e9999999"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}}
	quantity.Bound(pod) // as the cache does
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pod, pool("good", metav1.ConditionTrue, time.Hour)).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	told := &published{}
	if _, err := podevents.NewController(kube, &plans{}, accepted, told).Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*told) != 1 || !strings.Contains((*told)[0], "ImpossibleRequest: ") || !strings.Contains((*told)[0], "requests cpu of") {
		t.Errorf("told %q", *told)
	}
}

func TestAPendingPodIsToldThatTheTokenIsRefused(t *testing.T) {
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pending("waiting"), pool("good", metav1.ConditionTrue, time.Hour)).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	told := &published{}
	if _, err := podevents.NewController(kube, &plans{}, func() bool { return true }, told).Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*told) != 1 || !strings.HasPrefix((*told)[0], "waiting: TokenRefused: The Linode API refuses the token (401)") {
		t.Errorf("told %q", *told)
	}
}

func TestARoundOfEventsIsBounded(t *testing.T) {
	var objects []client.Object
	for n := range 500 {
		objects = append(objects, pending(fmt.Sprintf("pod-%d", n)))
	}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	told := &published{}
	if _, err := podevents.NewController(kube, &plans{}, accepted, told).Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*told) != 50 {
		t.Errorf("%d events in a round", len(*told))
	}
}
