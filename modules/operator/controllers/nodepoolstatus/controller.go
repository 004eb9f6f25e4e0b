// Package nodepoolstatus shows on a NodePool the causes that keep it from getting or replacing nodes, as conditions:
//
//   - NodesJoining is False after nodes of the NodePool were launched and never joined, or after its launches were given up, until a node
//     joins.
//   - PurchasesDelivered is False while LKE has accepted purchases of a plan that the NodePool may take, and made no Linode. It names the
//     causes that LKE Enterprise does not report: no capacity, and the account's limit of Linodes or vCPUs.
//   - DriftStalled is True while nodes have drifted and no replacement can be made first: a limit of the account or the cluster is
//     reached, or a static NodePool has no room between its replicas and its limit.
//   - EmptyNodesStay is True while empty nodes are billed because another node uses up the disruption budgets of the NodePool. This node
//     has pods that may not be evicted, or is not ready. The condition names the node, the pod and its PodDisruptionBudget.
//   - InstanceTypesAvailable is False while no plan that meets the NodePool's requirements can be bought: no plan meets them, or all are
//     refused, paused, without a price or sold out, or the Linode API refuses the token.
//   - LimitsSet is False while neither the NodePool's limits nor a setting bounds its purchases.
//
// The controller looks at each NodePool every minute. It removes a condition that no longer holds. It publishes an event when a condition
// appears or changes, and repeats the event about missing limits every 30 minutes. Core does not read these conditions.
//
// The package also publishes events about settings that core accepts or ignores without an event: a nodeClassRef of a kind that is not
// served, requirements on labels of other clouds' providers, and a NodePool that is not ready. It repeats these events every 30 minutes.
// Package cmd/controller registers it; it runs on the leader only and makes no request to the Linode API.
package nodepoolstatus

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// The conditions.
const (
	ConditionNodesJoining = "NodesJoining"
	ConditionDelivered    = "PurchasesDelivered"
	ConditionDriftStalled = "DriftStalled"
	ConditionEmptyStay    = "EmptyNodesStay"
	ConditionAvailable    = "InstanceTypesAvailable"
	ConditionLimits       = "LimitsSet"
)

// interval is the time between two looks at a NodePool, and so the longest delay of its conditions.
const interval = time.Minute

// Provider has the facts that the conditions show; *cloudprovider.CloudProvider implements it.
type Provider interface {
	Failures(nodePool string) []launches.Pause
	Limited(ctx context.Context, nodePool *karpv1.NodePool) bool
	// Overdue returns which plans rest because LKE accepted a purchase and made no Linode, "" if no plan does.
	Overdue(nodePool *karpv1.NodePool) string
	// Unbuyable returns why the NodePool can get no node now, "" if it can.
	Unbuyable(ctx context.Context, nodePool *karpv1.NodePool) string
}

// Controller reconciles the conditions of NodePools.
type Controller struct {
	kube     client.Client
	provider Provider
	recorder events.Recorder
	bounded  bool
	token    Token
}

// Token returns whether the Linode API refuses the operator's token.
type Token struct {
	Refused func() bool
	Changed <-chan event.GenericEvent // receives an event each time that the result of Refused changes
}

// NewController returns a Controller. kube may read from a cache. bounded: a setting bounds the nodes of all NodePools together.
func NewController(kube client.Client, provider Provider, token Token, recorder events.Recorder, bounded bool) *Controller {
	return &Controller{kube: kube, provider: provider, token: token, recorder: recorder, bounded: bounded}
}

// Reconcile brings the conditions of one NodePool up to date.
func (c *Controller) Reconcile(ctx context.Context, nodePool *karpv1.NodePool) (reconcile.Result, error) {
	switch {
	case !nodePool.DeletionTimestamp.IsZero():
		return reconcile.Result{}, nil
	case !nodeclaim.Ours(nodePool.Spec.Template.Spec.NodeClassRef):
		if message := unserved(nodePool); message != "" {
			c.warn(nodePool, EventUnknownNodeClass, message)
		}
		return reconcile.Result{RequeueAfter: reminder}, nil
	}
	again, err := c.advise(ctx, nodePool)
	if err != nil {
		return reconcile.Result{}, err
	}
	stalled, err := c.stalled(ctx, nodePool)
	if err != nil {
		return reconcile.Result{}, err
	}
	kept, err := c.kept(ctx, nodePool)
	if err != nil {
		return reconcile.Result{}, err
	}
	stored := nodePool.DeepCopy()
	joining, failures := failing(c.provider.Failures(nodePool.Name))
	c.show(nodePool, ConditionNodesJoining, metav1.ConditionFalse, joining, failures)
	c.show(nodePool, ConditionDelivered, metav1.ConditionFalse, "PurchaseOverdue", c.provider.Overdue(nodePool))
	c.show(nodePool, ConditionDriftStalled, metav1.ConditionTrue, "NoRoomForReplacement", stalled)
	c.show(nodePool, ConditionEmptyStay, metav1.ConditionTrue, "BudgetUsedUp", kept)
	if c.token.Refused() {
		c.show(nodePool, ConditionAvailable, metav1.ConditionFalse, launches.EventTokenRefused,
			launches.TokenRefused+"; until the API accepts the token, the operator buys and removes no node")
	} else {
		c.show(nodePool, ConditionAvailable, metav1.ConditionFalse, "NothingToBuy", c.provider.Unbuyable(ctx, nodePool))
	}
	set(nodePool, ConditionLimits, metav1.ConditionFalse, EventNoLimits, c.unbounded(nodePool)) // warn repeats the event
	if !equality.Semantic.DeepEqual(stored.Status.Conditions, nodePool.Status.Conditions) {
		if err := c.kube.Status().Patch(ctx, nodePool, controllers.Lock(stored)); err != nil {
			return controllers.Requeue(err)
		}
		log.FromContext(ctx).V(1).Info("changed the conditions of a NodePool")
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// advise publishes events about settings that core accepts or ignores without an event, and returns the time until the next look.
func (c *Controller) advise(ctx context.Context, nodePool *karpv1.NodePool) (time.Duration, error) {
	for _, message := range labelsOfOtherProviders(nodePool) {
		c.warn(nodePool, EventLabelOfOtherProvider, message)
	}
	if message := c.unbounded(nodePool); message != "" {
		c.warn(nodePool, EventNoLimits, message)
	}
	message, again, err := c.notReady(ctx, nodePool)
	if err == nil && message != "" {
		c.warn(nodePool, EventNodePoolNotReady, message)
	}
	return again, err
}

// unbounded returns a message about a NodePool that may buy any number of nodes, "" if a limit or a setting bounds it.
func (c *Controller) unbounded(nodePool *karpv1.NodePool) string {
	if c.bounded || len(nodePool.Spec.Limits) > 0 || nodePool.Spec.Replicas != nil {
		return ""
	}
	return "Nothing bounds how many nodes this NodePool may buy: set its spec.limits, or settings.maxNodes (MAX_NODES)"
}

// show sets a condition, or removes it if the message is empty. It publishes an event if the condition is new or has changed.
func (c *Controller) show(nodePool *karpv1.NodePool, condition string, is metav1.ConditionStatus, reason, message string) {
	if set(nodePool, condition, is, reason, message) {
		name := condition
		if reason == launches.EventTokenRefused {
			name = reason
		}
		c.recorder.Publish(events.Event{
			InvolvedObject: nodePool, Type: corev1.EventTypeWarning, Reason: name, Message: message,
			DedupeValues: []string{nodePool.Name, message},
		})
	}
}

// set sets a condition, or removes it if the message is empty. It returns whether it has set a new or changed condition.
func set(nodePool *karpv1.NodePool, condition string, is metav1.ConditionStatus, reason, message string) (news bool) {
	conditions := nodePool.StatusConditions()
	if message == "" {
		_ = conditions.Clear(condition) // fails only for conditions that Ready depends on
		return false
	}
	return conditions.Set(status.Condition{Type: condition, Status: is, Reason: reason, Message: message})
}

// failing returns a reason and a message about failed launches, "" if there are no failures. The times in the message change only with a
// new failure, so the same failures give the same text.
func failing(failures []launches.Pause) (reason, message string) {
	switch {
	case len(failures) == 0:
		return "", ""
	case failures[0].Plan == "":
		return "LaunchesGivenUp", fmt.Sprintf("%d launches in a row failed; see the events of the NodePool",
			failures[0].InARow)
	}
	f := failures[0]
	return cloudprovider.EventNodesNeverJoin, fmt.Sprintf(
		"%d nodes of %s in a row were launched and never joined; the operator buys the next one after %s (failing plans: %d)",
		f.InARow, f.Plan, f.Until.UTC().Format(time.RFC3339), len(failures))
}

// stalled returns why drifted nodes cannot be replaced, "" if they can be replaced or if no node has drifted.
func (c *Controller) stalled(ctx context.Context, nodePool *karpv1.NodePool) (string, error) {
	var why string
	switch {
	case c.provider.Limited(ctx, nodePool):
		why = "a limit of the account, of the cluster, of the settings or of the placement groups is reached: the events of the NodePool " +
			"name the limit; raise it, or remove Linodes"
	case full(nodePool):
		why = "spec.limits.nodes of this static NodePool is not above spec.replicas: raise spec.limits.nodes"
	default:
		return "", nil
	}
	list := &karpv1.NodeClaimList{}
	if err := c.kube.List(ctx, list, client.MatchingLabels{karpv1.NodePoolLabelKey: nodePool.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing the NodeClaims of NodePool %s: %w", nodePool.Name, err)
	}
	drifted := 0
	for i := range list.Items {
		if list.Items[i].StatusConditions(status.WithObservedOnly()).IsTrue(karpv1.ConditionTypeDrifted) {
			drifted++
		}
	}
	if drifted == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d nodes have drifted and cannot be replaced, because Karpenter creates the replacement first, and %s", drifted,
		why), nil
}

// full returns whether a static NodePool has no room for a replacement in addition to its replicas.
func full(nodePool *karpv1.NodePool) bool {
	limit, limited := nodePool.Spec.Limits[resources.Node]
	return nodePool.Spec.Replicas != nil && limited && limit.Value() <= *nodePool.Spec.Replicas
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "nodepool.status", &karpv1.NodePool{}, 1, predicate.Funcs{}).
		WatchesRawSource(source.Channel(c.token.Changed, handler.EnqueueRequestsFromMapFunc(c.all))).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}

// all returns requests for all NodePools: the state of the token concerns each of them.
func (c *Controller) all(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
	list := &karpv1.NodePoolList{}
	if err := c.kube.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // each NodePool is reconciled after interval
	}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
