// Package surge starts the successor of a one-replica workload's only pod before that pod is evicted.
//
// An eviction of the only pod takes its Service down until another pod is ready. For a Deployment that can surge there is a better way,
// the way of `kubectl rollout restart`: the Deployment controller makes the new pod first, and deletes the old pod when the new one is
// available. Hold restarts the Deployment, and holds the eviction until the old pod is gone or the time is over.
//
// It is opt-in: the setting SURGE_BEFORE_DRAIN, which comes with the rights, and the annotation on the Deployment or on the NodePool of the
// pod's node. The Deployment's annotation has precedence. A pod whose workload cannot surge is evicted as before, with an event on the pod
// that gives the reason.
//
// The state is in annotations of the Deployment, so a restarted operator does not restart the Deployment twice, and does not wait twice as
// long. Each call reads from the API server: a cached Deployment would be restarted again. Callers: core's eviction queue and
// controllers/drain, through karpentercore.Evicting.
//
// The annotation has true, false or a duration of at most an hour, such as 5m; true is ten minutes (DefaultLimit). Another value counts as
// false, with the event SurgeNotPossible. When the time is over, the pod is evicted as usual, with the event SurgeTimedOut. An error of
// Hold keeps the pod for one more attempt of the queue. A Surger is safe for concurrent use.
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
	// Annotation opts a Deployment or a NodePool in: "true", or for how long an eviction is held, such as 5m; "false" opts out.
	Annotation = "karpenter.k8s.linode/surge-before-drain"
	// AnnotationStarted is on a Deployment: the UID of the pod that is to be evicted, and since when its eviction is held.
	AnnotationStarted = "karpenter.k8s.linode/surge-started"
	// AnnotationRestarted is in the pod template, where `kubectl rollout restart` writes it too.
	AnnotationRestarted = "kubectl.kubernetes.io/restartedAt"
)

// DefaultLimit is for how long an eviction is held where the annotation is "true": a node joins within minutes.
const DefaultLimit = 10 * time.Minute

// maxLimit bounds for how long one workload may keep a node that costs money.
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

// obstacle returns why a restart would not make the new pod first, "" if it would.
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
		return "the Deployment has maxSurge 0: it makes no pod more than its replicas"
	case rolling != nil && roundedDown(rolling.MaxUnavailable) > 0:
		return "the Deployment has maxUnavailable 1 or more, so that it may delete the old pod first"
	case len(exclusive) > 0:
		return fmt.Sprintf("its volume %s can be on one node only (ReadWriteOnce), so that a second pod would wait for it", exclusive[0])
	case pod.Spec.NodeName != "" && pod.Spec.NodeSelector[corev1.LabelHostname] != "":
		return "its nodeSelector names this node"
	}
	return ""
}

// roundedUp and roundedDown are the shares of one replica as the Deployment controller rounds them; the default is 25%.
func roundedUp(value *intstr.IntOrString) int   { return share(value, true) }
func roundedDown(value *intstr.IntOrString) int { return share(value, false) }

func share(value *intstr.IntOrString, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(value, intstr.FromString("25%"))), 1, up)
	if err != nil {
		return 0
	}
	return n
}

// A step is what to do about an eviction.
type step int

const (
	evict    step = iota // nothing holds it
	timedOut             // it was held for as long as the annotation allows
	wait                 // the new pod is on its way
	restart              // the new pod is to be made
	follow               // another rollout makes the new pod: only the time is noted
)

// next decides about the only pod of a Deployment that can surge. current: the pod is of the Deployment's newest revision.
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

// startedFor returns since when the eviction of a pod is held.
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
