// Package podevents publishes events on pending pods about causes that core's events do not name:
//
//   - The Linode API refuses the token. Core's last event is that the pod should schedule on a NodeClaim.
//   - No NodePool is ready. Core then plans nothing and publishes no event. The pod has only the events of the Kubernetes scheduler, as
//     in a cluster without Karpenter.
//   - The rest of a NodePool's spec.limits excludes every plan that holds the pod, but not all plans. Core's event contains "no instance
//     type has enough resources" and does not mention the limits.
//   - The NodePools that could make a node for the pod are in their off-hours. Core's event names the limit that package offhours sets.
//   - The pod requires a zone that does not exist at Linode, such as a zone of another cloud. Core's event lists all requirements and does
//     not name the only existing zone.
//   - The pod requests more than any node can have, such as a cpu of 1e9999999. The cache reduces the request to a bound (package
//     quantity). Core's event is only that no instance type has enough resources.
//
// If several causes apply, a pod gets the event of the first in this order: an impossible request, the token, no NodePool, the zone,
// off-hours and limits. A pod with several node selector terms gets no event about its zone, because another term may fit.
//
// The controller looks every 30 seconds and reads from the cache only. It publishes events on at most 50 pods in a round, and the same
// event on a pod once in five minutes. Static NodePools do not count, because they make no nodes for pods. Package cmd/controller registers
// it; it runs on the leader only.
package podevents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/reconciler"
	"github.com/awslabs/operatorpkg/singleton"
	corev1 "k8s.io/api/core/v1"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// The reasons of events on a pod.
const (
	EventNoNodePoolReady = "NoNodePoolReady"
	EventLimitsReached   = "LimitsReached"
	EventOffHours        = "OffHours"
	EventUnknownZone     = "UnknownZone"
	EventImpossible      = "ImpossibleRequest"
)

const (
	interval     = 30 * time.Second
	podsPerRound = 50
	silence      = 5 * time.Minute // an event on a pod is not repeated within this time, as in core
)

// Types has the instance types of a NodePool, from memory; core's CloudProvider implements it.
type Types interface {
	GetInstanceTypes(ctx context.Context, nodePool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error)
}

// Controller looks at pending pods on an interval.
type Controller struct {
	kube     client.Client
	types    Types
	refused  func() bool
	recorder events.Recorder
}

// NewController returns a Controller. The cache behind kube must have core's index of pods by node. refused returns whether the Linode API
// refuses the token.
func NewController(kube client.Client, types Types, refused func() bool, recorder events.Recorder) *Controller {
	return &Controller{kube: kube, types: types, refused: refused, recorder: recorder}
}

// Reconcile publishes at most one event on each pod that waits for a node.
func (c *Controller) Reconcile(ctx context.Context) (reconciler.Result, error) {
	list := &karpv1.NodePoolList{}
	if err := c.kube.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return reconciler.Result{}, fmt.Errorf("listing NodePools: %w", err)
	}
	dynamic := slices.DeleteFunc(list.Items, func(nodePool karpv1.NodePool) bool {
		return nodePool.Spec.Replicas != nil || !nodePool.DeletionTimestamp.IsZero()
	})
	why, bounds, refused := whyNone(dynamic), c.bounds(ctx, dynamic), c.refused()
	pods, err := node.GetProvisionablePods(ctx, c.kube)
	if err != nil {
		return reconciler.Result{}, err
	}
	for _, pod := range pods[:min(len(pods), podsPerRound)] {
		if message := impossible(pod); message != "" {
			c.warn(pod, EventImpossible, message)
		} else if refused {
			c.warn(pod, launches.EventTokenRefused, launches.TokenRefused+"; until the API accepts the token, Karpenter makes no node for this pod")
		} else if why != "" {
			c.warn(pod, EventNoNodePoolReady, why)
		} else if message := elsewhere(pod, bounds); message != "" {
			c.warn(pod, EventUnknownZone, message)
		} else if reason, message := heldBack(pod, bounds); message != "" {
			c.warn(pod, reason, message)
		}
	}
	return reconciler.Result{RequeueAfter: interval}, nil
}

func (c *Controller) warn(pod *corev1.Pod, reason, message string) {
	c.recorder.Publish(events.Event{
		InvolvedObject: pod, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		DedupeValues: []string{string(pod.UID), reason}, DedupeTimeout: silence,
	})
}

// whyNone returns why no NodePool makes nodes for pods. It returns "" if a NodePool is ready, or if the condition Ready of a NodePool
// changed less than ten seconds ago.
func whyNone(nodePools []karpv1.NodePool) string {
	const settling = 10 * time.Second
	var names []string
	for i := range nodePools {
		ready := nodePools[i].StatusConditions().Root()
		if ready.IsTrue() || time.Since(ready.LastTransitionTime.Time) < settling {
			return ""
		}
		names = append(names, nodePools[i].Name)
	}
	if len(names) == 0 {
		return "Karpenter makes no node for this pod: there is no NodePool, or all NodePools are static"
	}
	if more := len(names) - 5; more > 0 {
		names = append(names[:5], fmt.Sprintf("%d more", more))
	}
	return "Karpenter makes no node for this pod: no NodePool is ready (" + strings.Join(names, ", ") +
		"); kubectl describe nodepools shows why"
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named("pod.unplanned").
		WatchesRawSource(singleton.Source()).
		Complete(singleton.AsReconciler(c))
}
