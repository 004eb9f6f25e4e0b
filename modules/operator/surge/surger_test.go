package surge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/surge"
)

const revision = "deployment.kubernetes.io/revision"

type told []string

func (n *told) Publish(all ...events.Event) {
	for _, e := range all {
		*n = append(*n, e.Reason+": "+e.Message)
	}
}

// world is a Deployment whose only pod is on a node of the NodePool default.
type world struct {
	deployment *appsv1.Deployment
	replicas   *appsv1.ReplicaSet
	pod        *corev1.Pod
	claim      *corev1.PersistentVolumeClaim
	node       *corev1.Node
	nodePool   *karpv1.NodePool
	refusal    error // of a patch
}

func optedIn() *world {
	owned := func(name, kind, owner string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: "default", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: kind, Name: owner, UID: "uid-", Controller: ptr.To(true)}}}
	}
	w := &world{
		deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid-",
			Annotations: map[string]string{surge.Annotation: "5m", revision: "3"}},
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}},
		replicas: &appsv1.ReplicaSet{ObjectMeta: owned("web-1", "Deployment", "web")},
		pod:      &corev1.Pod{ObjectMeta: owned("web-1-x", "ReplicaSet", "web-1")},
		claim:    &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"}},
		node:     &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{karpv1.NodePoolLabelKey: "default"}}},
		nodePool: &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	}
	w.replicas.UID, w.replicas.Annotations = "uid-", map[string]string{revision: "3"}
	w.pod.UID, w.pod.Spec.NodeName = "pod-uid", "n1"
	w.pod.Status = corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return w
}

func rolling(w *world, maxSurge, maxUnavailable string) {
	w.deployment.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: ptr.To(intstr.Parse(maxSurge)), MaxUnavailable: ptr.To(intstr.Parse(maxUnavailable))}}
}

func mount(w *world, mode corev1.PersistentVolumeAccessMode) {
	w.claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
	w.pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
}

func TestAnEvictionWaitsForTheSuccessorOfAPodThatCanSurge(t *testing.T) {
	for name, tt := range map[string]struct {
		change    func(*world)
		held      bool
		restarted bool
		event     string
	}{
		"opted in on the Deployment":        {func(*world) {}, true, true, "SurgeStarted: The node is being removed: Deployment web"},
		"the default strategy, spelled out": {func(w *world) { rolling(w, "25%", "25%") }, true, true, "SurgeStarted"},
		"not opted in":                      {func(w *world) { delete(w.deployment.Annotations, surge.Annotation) }, false, false, ""},
		"opted in on the NodePool": {func(w *world) {
			delete(w.deployment.Annotations, surge.Annotation)
			w.nodePool.Annotations = map[string]string{surge.Annotation: "true"}
		}, true, true, "SurgeStarted"},
		"the Deployment opts out": {func(w *world) {
			w.deployment.Annotations[surge.Annotation] = "false"
			w.nodePool.Annotations = map[string]string{surge.Annotation: "true"}
		}, false, false, ""},
		"an annotation that is no duration": {func(w *world) { w.deployment.Annotations[surge.Annotation] = "five" }, false, false,
			`SurgeNotPossible: the annotation karpenter.k8s.linode/surge-before-drain is "five": use true, false or a duration`},
		"longer than an hour": {func(w *world) { w.deployment.Annotations[surge.Annotation] = "2h" }, false, false, "SurgeNotPossible"},
		"two replicas":        {func(w *world) { w.deployment.Spec.Replicas = ptr.To[int32](2) }, false, false, ""},
		"no successor before": {func(w *world) { w.deployment.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }, false, false,
			"SurgeNotPossible: This pod is evicted without a successor: the Deployment's strategy is Recreate"},
		"maxSurge 0":       {func(w *world) { rolling(w, "0", "1") }, false, false, "SurgeNotPossible"},
		"maxUnavailable 1": {func(w *world) { rolling(w, "1", "1") }, false, false, "SurgeNotPossible"},
		"paused":           {func(w *world) { w.deployment.Spec.Paused = true }, false, false, "SurgeNotPossible"},
		"a volume of one node": {func(w *world) { mount(w, corev1.ReadWriteOnce) }, false, false,
			"SurgeNotPossible: This pod is evicted without a successor: its volume data"},
		"a volume of many nodes":  {func(w *world) { mount(w, corev1.ReadWriteMany) }, true, true, "SurgeStarted"},
		"a pod that is not ready": {func(w *world) { w.pod.Status.Conditions = nil }, false, false, ""},
		"a StatefulSet's pod":     {func(w *world) { w.pod.OwnerReferences[0].Kind = "StatefulSet" }, false, false, ""},
		"a ReplicaSet of its own": {func(w *world) { w.replicas.OwnerReferences = nil }, false, false, ""},
		"another rollout is under way": {func(w *world) { w.replicas.Annotations[revision] = "2" }, true, false,
			"SurgeStarted"},
		"the API server refuses": {func(w *world) {
			w.refusal = apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", nil)
		}, false, false, "SurgeNotPossible: This pod is evicted without a successor: the API server refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			w := optedIn()
			tt.change(w)
			surger, kube, said, _ := w.surger()
			held, err := surger.Hold(t.Context(), w.pod)
			if err != nil {
				t.Fatal(err)
			}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(w.deployment), w.deployment); err != nil {
				t.Fatal(err)
			}
			restarted := w.deployment.Spec.Template.Annotations[surge.AnnotationRestarted] != ""
			if held != tt.held || restarted != tt.restarted {
				t.Errorf("held %v, restarted %v", held, restarted)
			}
			if all := strings.Join(*said, "\n"); tt.event == "" && all != "" || !strings.HasPrefix(all, tt.event) {
				t.Errorf("events %q, want %q", all, tt.event)
			}
		})
	}
}

// A restarted operator has a new Surger: it must not restart the Deployment a second time, nor begin to wait anew.
func TestTheWaitEndsAndOutlivesTheOperator(t *testing.T) {
	w := optedIn()
	surger, kube, said, clk := w.surger()
	hold := func() bool {
		t.Helper()
		held, err := surger.Hold(t.Context(), w.pod)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	version := func() string {
		t.Helper()
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(w.deployment), w.deployment); err != nil {
			t.Fatal(err)
		}
		return w.deployment.ResourceVersion
	}
	if !hold() {
		t.Fatal("it is evicted at once")
	}
	first := version()
	clk.Step(4 * time.Minute)
	surger = surge.New(kube, kube, said, clk)
	if !hold() || version() != first {
		t.Error("after four of five minutes, by another operator: evicted, or restarted again")
	}
	clk.Step(90 * time.Second)
	if hold() {
		t.Error("it is held for longer than the annotation allows")
	}
	if last := (*said)[len(*said)-1]; !strings.HasPrefix(last, "SurgeTimedOut: Its successor was not available after 5m0s") {
		t.Errorf("events %q", *said)
	}
	w.pod.UID = "successor"
	if !hold() || version() == first {
		t.Error("the successor's own eviction, later, makes no other pod")
	}
}

func (w *world) surger() (*surge.Surger, client.Client, *told, *clocktesting.FakeClock) {
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithObjects(w.deployment, w.replicas, w.claim, w.node, w.nodePool).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			options ...client.PatchOption) error {
			if w.refusal != nil {
				return w.refusal
			}
			return c.Patch(ctx, o, p, options...)
		}}).Build()
	said, clk := &told{}, clocktesting.NewFakeClock(time.Unix(1700000000, 0))
	return surge.New(kube, kube, said, clk), kube, said, clk
}
