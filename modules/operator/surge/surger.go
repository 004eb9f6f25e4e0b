package surge

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
)

// The reasons of events on a pod.
const (
	EventSurgeStarted     = "SurgeStarted"
	EventSurgeNotPossible = "SurgeNotPossible"
	EventSurgeTimedOut    = "SurgeTimedOut"
)

// Surger holds evictions.
type Surger struct {
	kube     client.Client
	live     client.Reader
	recorder events.Recorder
	clock    clock.PassiveClock
}

// New returns a Surger. kube may read from a cache; live must read from the API server, because its ReplicaSets and Deployments decide
// whether Hold restarts a Deployment.
func New(kube client.Client, live client.Reader, recorder events.Recorder, clk clock.PassiveClock) *Surger {
	return &Surger{kube: kube, live: live, recorder: recorder, clock: clk}
}

// Hold returns whether the eviction of a pod has to wait for the pod's successor. It starts the successor. The caller must not evict the
// pod if Hold returns true or an error.
func (s *Surger) Hold(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !podutils.IsActive(pod) || !ready(pod) {
		return false, nil // the pod serves no requests
	}
	replicas, deployment, err := s.owners(ctx, pod)
	if err != nil || deployment == nil || ptr.Deref(deployment.Spec.Replicas, 1) != 1 {
		return false, err
	}
	limit, err := s.limit(ctx, deployment, pod)
	if err != nil {
		s.say(pod, corev1.EventTypeWarning, EventSurgeNotPossible, err.Error())
		return false, nil //nolint:nilerr // a user's annotation keeps no node
	}
	if limit == 0 {
		return false, nil
	}
	exclusive, err := s.exclusive(ctx, pod)
	if err != nil {
		return false, err
	}
	if why := obstacle(deployment, pod, exclusive); why != "" {
		s.say(pod, corev1.EventTypeWarning, EventSurgeNotPossible, "This pod is evicted without a successor: "+why)
		return false, nil
	}
	const revision = "deployment.kubernetes.io/revision"
	now := s.clock.Now()
	step := next(deployment, pod.UID, replicas.Annotations[revision] == deployment.Annotations[revision], limit, now)
	switch step {
	case wait:
		return true, nil
	case timedOut:
		s.say(pod, corev1.EventTypeWarning, EventSurgeTimedOut,
			fmt.Sprintf("Its successor was not available after %s; the pod is evicted, because its node is being removed", limit))
		return false, nil
	}
	return s.start(ctx, deployment, pod, step, now)
}

// start starts the successor, and returns true while the eviction has to wait. If the API server refuses the patch, start returns false,
// and the pod is evicted: a refusal must not keep a node.
func (s *Surger) start(ctx context.Context, d *appsv1.Deployment, pod *corev1.Pod, step step, now time.Time) (bool, error) {
	stored := d.DeepCopy()
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, AnnotationStarted, started(pod.UID, now))
	if step == restart {
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, AnnotationRestarted, now.UTC().Format(time.RFC3339))
	}
	err := s.kube.Patch(ctx, d, controllers.Lock(stored))
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		s.say(pod, corev1.EventTypeWarning, EventSurgeNotPossible,
			"This pod is evicted without a successor: the API server refuses: "+err.Error())
		return false, nil
	case apierrors.IsConflict(err):
		return true, nil // another client has changed the Deployment; the next call reads the change
	case err != nil:
		return true, fmt.Errorf("restarting Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	s.say(pod, corev1.EventTypeNormal, EventSurgeStarted,
		fmt.Sprintf("The node is being removed: Deployment %s creates the successor first, and deletes this pod when the successor is "+
			"available", d.Name))
	return true, nil
}

// owners returns the ReplicaSet and the Deployment of a pod, nil if the pod belongs to another kind of workload.
func (s *Surger) owners(ctx context.Context, pod *corev1.Pod) (*appsv1.ReplicaSet, *appsv1.Deployment, error) {
	replicas, deployment := &appsv1.ReplicaSet{}, &appsv1.Deployment{}
	for _, of := range []struct {
		owned client.Object
		kind  string
		owner client.Object
	}{{pod, "ReplicaSet", replicas}, {replicas, "Deployment", deployment}} {
		ref := metav1.GetControllerOf(of.owned)
		if ref == nil || ref.Kind != of.kind || ref.APIVersion != appsv1.SchemeGroupVersion.String() {
			return nil, nil, nil
		}
		err := s.live.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}, of.owner)
		switch {
		case apierrors.IsNotFound(err), err == nil && of.owner.GetUID() != ref.UID:
			return nil, nil, nil
		case err != nil:
			return nil, nil, fmt.Errorf("reading %s %s/%s: %w", ref.Kind, pod.Namespace, ref.Name, err)
		}
	}
	return replicas, deployment, nil
}

// limit returns the time for which the eviction may be held, 0 if it may not be held.
func (s *Surger) limit(ctx context.Context, d *appsv1.Deployment, pod *corev1.Pod) (time.Duration, error) {
	limit, set, err := limitOf(d.Annotations)
	if err != nil || set {
		return limit, err
	}
	node := &corev1.Node{}
	if err := s.kube.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	nodePool := &karpv1.NodePool{}
	if err := s.kube.Get(ctx, client.ObjectKey{Name: node.Labels[karpv1.NodePoolLabelKey]}, nodePool); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	limit, _, err = limitOf(nodePool.Annotations)
	return limit, err
}

// exclusive returns the pod's volumes that only one node at a time can attach.
func (s *Surger) exclusive(ctx context.Context, pod *corev1.Pod) (names []string, err error) {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		err := s.kube.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}, claim)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the volume claim %s: %w", volume.PersistentVolumeClaim.ClaimName, err)
		}
		for _, mode := range claim.Spec.AccessModes {
			if mode == corev1.ReadWriteOnce || mode == corev1.ReadWriteOncePod {
				names = append(names, claim.Name)
			}
		}
	}
	return names, nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (s *Surger) say(pod *corev1.Pod, kind, reason, message string) {
	s.recorder.Publish(events.Event{
		InvolvedObject: pod, Type: kind, Reason: reason, Message: message, DedupeValues: []string{string(pod.UID), reason},
	})
}
