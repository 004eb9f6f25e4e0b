// Package surge starts the successor of a one-replica workload's only pod before that pod is evicted.
//
// An eviction of the only pod takes its Service down until another pod is ready. For a Deployment that can surge there is a better way,
// the way of `kubectl rollout restart`: the Deployment controller makes the new pod first, and deletes the old pod when the new pod is
// available. Hold restarts the Deployment, and holds the eviction until the old pod is gone or the time limit has passed.
//
// It is opt-in. An administrator enables the setting SURGE_BEFORE_DRAIN, with which the chart grants the rights. A user puts the annotation
// (Annotation) on the Deployment, or on the NodePool of the pod's node. If the Deployment has the annotation, the NodePool's does not
// count: with false on the Deployment and true on the NodePool, the pod is evicted as usual.
//
// The annotation has true, false or a duration of at most an hour, such as 5m; true means ten minutes (DefaultLimit). Another value counts
// as false, with the event SurgeNotPossible.
//
// The state is in annotations of the Deployment, so a restarted operator does not restart the Deployment twice, and does not begin the time
// limit again. Each call reads the Deployment from the API server: a cached Deployment may lack the annotation, and Hold would restart it
// again. Callers are core's eviction queue and package drain, through karpentercore.Evicting. While the pod exists, they call Hold again,
// core's queue after a second.
//
// # What Hold decides
//
//	the pod is not active or not ready            evicted, no event
//	no Deployment owns it, or replicas is not 1   evicted, no event
//	no annotation, or false                       evicted, no event
//	the Deployment cannot surge                   evicted, event SurgeNotPossible with the reason
//	another rollout already makes the new pod     held; Hold only records the time, from which the time limit runs; event SurgeStarted
//	else, at the first call                       held; Hold records the time and restarts the Deployment; event SurgeStarted
//	a later call, within the time limit           held, no event
//	a later call, after the time limit            evicted, event SurgeTimedOut
//	the API server answers Hold's patch 409       held without an error; the next call reads the change
//	it answers that the patch is forbidden        evicted, event SurgeNotPossible: a refusal must not keep a node
//	it answers that the patch is invalid          evicted, event SurgeNotPossible
//	a read or the patch has another error         Hold returns the error; the pod stays until the next call
//
// A Deployment cannot surge if it is paused or being deleted, with the strategy Recreate, with maxSurge 0 or maxUnavailable 1 or more, with
// a ReadWriteOnce volume, or if the pod's nodeSelector names its node. A Surger is safe for concurrent use and remembers nothing.
package surge

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The annotations.
const (
	// Annotation is on a Deployment or a NodePool: "true", or the time for which an eviction is held, such as 5m, or "false".
	Annotation = "karpenter.k8s.linode/surge-before-drain"
	// AnnotationStarted is on a Deployment: the UID of the pod whose eviction is held, and the time at which the hold began (RFC 3339).
	AnnotationStarted = "karpenter.k8s.linode/surge-started"
	// AnnotationRestarted is in the pod template. `kubectl rollout restart` writes the same annotation.
	AnnotationRestarted = "kubectl.kubernetes.io/restartedAt"
)

// DefaultLimit is the time for which an eviction is held if the annotation is "true". A new node for the successor joins within minutes.
const DefaultLimit = 10 * time.Minute

// maxLimit bounds the time for which one workload may keep a node that costs money.
const maxLimit = time.Hour

// limitOf reads an annotation. It returns 0 if the annotation opts out, and ok false if there is no annotation.
func limitOf(annotations map[string]string) (limit time.Duration, ok bool, err error) {
	text, ok := annotations[Annotation]
	switch text {
	case "":
		return 0, false, nil
	case "true":
		return DefaultLimit, true, nil
	case "false":
		return 0, true, nil
	}
	limit, err = time.ParseDuration(text)
	if err != nil || limit <= 0 || limit > maxLimit {
		return 0, ok, fmt.Errorf("the annotation %s is %q: use true, false or a duration of at most %s such as 5m", Annotation, text, maxLimit)
	}
	return limit, true, nil
}

// obstacle returns why a restart would not make the new pod before the old pod goes, "" if it would.
func obstacle(d *appsv1.Deployment, pod *corev1.Pod, exclusive []string) string {
	rolling := d.Spec.Strategy.RollingUpdate
	switch {
	case !d.DeletionTimestamp.IsZero():
		return "the Deployment is being deleted"
	case d.Spec.Paused:
		return "the Deployment is paused: spec.paused"
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return "the Deployment's strategy is Recreate, which deletes the old pod first"
	case rolling != nil && roundedUp(rolling.MaxSurge) < 1:
		return "the Deployment has maxSurge 0, so it never creates an additional pod"
	case rolling != nil && roundedDown(rolling.MaxUnavailable) > 0:
		return "the Deployment has maxUnavailable 1 or more, so it may delete the old pod first"
	case len(exclusive) > 0:
		return fmt.Sprintf("its volume %s can be on one node only (ReadWriteOnce), so a second pod would wait for the volume", exclusive[0])
	case pod.Spec.NodeName != "" && pod.Spec.NodeSelector[corev1.LabelHostname] != "":
		return "its nodeSelector names this node"
	}
	return ""
}

// roundedUp and roundedDown return a number of pods or a share of one replica, rounded as the Deployment controller does; the default is
// 25%.
func roundedUp(value *intstr.IntOrString) int   { return share(value, true) }
func roundedDown(value *intstr.IntOrString) int { return share(value, false) }

func share(value *intstr.IntOrString, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(value, intstr.FromString("25%"))), 1, up)
	if err != nil {
		return 0
	}
	return n
}

// A step is the next action for an eviction.
type step int

const (
	evict    step = iota // the pod is evicted
	timedOut             // the time limit has passed, so the pod is evicted
	wait                 // the eviction is held, because the new pod is on its way
	restart              // Hold restarts the Deployment, which makes the new pod
	follow               // another rollout already makes the new pod: Hold only records the time
)

// next decides about the only pod of a Deployment that can surge. current means that the pod has the Deployment's newest revision.
func next(d *appsv1.Deployment, pod types.UID, current bool, limit time.Duration, now time.Time) step {
	if since, ok := startedFor(d, pod); ok {
		if now.Sub(since) > limit {
			return timedOut
		}
		return wait
	}
	if !current {
		return follow
	}
	return restart
}

// startedFor returns the time since which the eviction of a pod is held, false if it is not held.
func startedFor(d *appsv1.Deployment, pod types.UID) (since time.Time, ok bool) {
	var uid, at string
	if n, _ := fmt.Sscanf(d.Annotations[AnnotationStarted], "%s %s", &uid, &at); n != 2 || uid != string(pod) {
		return time.Time{}, false
	}
	since, err := time.Parse(time.RFC3339, at)
	return since, err == nil
}

func started(pod types.UID, now time.Time) string {
	return string(pod) + " " + now.UTC().Format(time.RFC3339)
}
