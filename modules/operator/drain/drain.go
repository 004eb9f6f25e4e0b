// Package drain empties Nodes that no NodeClaim owns, before their instances go. Karpenter core drains only the Nodes of NodeClaims.
//
// Vacate does one step for one Node and returns whether the Node is vacant. It never waits. Its caller calls it again until it returns
// true:
//
//   - A NodeClaim owns the Node, or has just got its instance: Vacate changes nothing and returns false.
//   - The Node takes pods: Vacate puts core's taint karpenter.sh/disrupted on it.
//   - Pods have to leave: Vacate evicts them through the Eviction API. If a PodDisruptionBudget refuses, the pod stays until a later call.
//     A pod with the annotation karpenter.sh/do-not-disrupt is never evicted.
//   - No pod has to leave, and the Node has had the taint for five seconds: Vacate lists the pods from the API server, not from the cache,
//     and returns true if the list agrees.
//   - The deadline has passed: Vacate returns true although pods are left, with the event FailedDraining. Without a deadline (0) it waits
//     for ever.
//
// Core's own code decides which pods have to leave: not mirror pods, and not pods that tolerate the taint. The order of eviction is:
// ordinary pods, pods of DaemonSets, critical pods, critical pods of DaemonSets. The next group follows only when the previous group is
// gone.
//
// An instance that is being drained is still free, so a NodeClaim may get it, often the NodeClaim for the evicted pods. Keep then removes
// the taint before the NodeClaim's status names the instance, and for a minute Vacate does not touch this Node. Core's disruption
// controller would remove the taint too, but up to ten seconds later. In these seconds core would see a node of the NodeClaim that no pod
// can use, and plan another node.
//
// Package garbagecollection calls Vacate for instances that it is going to release. Package registrationtaint calls it for Nodes to which
// pods were bound while no operator ran. The cloud provider calls Keep for instances that a NodeClaim has got. The Drainer publishes the
// cause that holds a Node as an event on the Node and as a line in the log, once, and again when the cause changes. The state is on the
// Node, so a restarted process continues. A Drainer is safe for concurrent use for different Nodes.
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/node/termination"
	terminatorevents "sigs.k8s.io/karpenter/pkg/controllers/node/termination/terminator/events"
	"sigs.k8s.io/karpenter/pkg/events"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// excludedBy is the value of the label that keeps load balancers away, as core sets it.
const excludedBy = "karpenter"

// Drainer empties Nodes.
type Drainer struct {
	Settle time.Duration // the time in which the scheduler sees a taint; core's own figure, 5 s

	kube     client.Client
	live     client.Reader
	recorder events.Recorder
	said     *cache.Expiring // by the Node's UID: the last message
	kept     *cache.Expiring // provider IDs and names of Nodes whose instance a NodeClaim has got
}

// saidTTL is the time for which the last message about a Node is kept after the last call for this Node.
const saidTTL = 10 * time.Minute

// keptTTL is longer than core takes to write the instance into the NodeClaim's status. After this write GetNodeClaims finds the owner.
const keptTTL = time.Minute

// New returns a Drainer. kube may read from a cache, which needs core's indexes of pods and Nodes; live must read from
// the API server.
func New(kube client.Client, live client.Reader, recorder events.Recorder) *Drainer {
	return &Drainer{Settle: termination.MinDrainTime, kube: kube, live: live, recorder: recorder, said: cache.NewExpiring(),
		kept: cache.NewExpiring()}
}

// Vacate keeps new pods off the Node and evicts its pods. It returns true if no pod is left that has to leave, or if the Node has had the
// taint for longer than deadline (0 = no deadline). For a Node that a NodeClaim owns or has just got, Vacate does nothing and returns
// false. A conflict with another client's write is no error.
func (d *Drainer) Vacate(ctx context.Context, node *corev1.Node, deadline time.Duration) (bool, error) {
	owners, err := nodeutils.GetNodeClaims(ctx, d.kube, node)
	if err != nil || len(owners) > 0 || d.isKept(node) {
		d.said.Delete(node.UID)
		return false, err
	}
	since, closed := closedSince(node)
	if !closed {
		_, err := controllers.Requeue(d.Taint(ctx, node, karpv1.DisruptedNoScheduleTaint)) // the caller calls again
		if err == nil && d.isKept(node) {
			err = d.lift(ctx, node.Name) // a NodeClaim has got the instance while Taint wrote
		}
		return false, err
	}
	pods, err := d.leaving(ctx, node)
	switch {
	case err != nil:
		return false, err
	case len(pods) == 0 && time.Since(since) < d.Settle:
		return false, nil
	case len(pods) == 0:
		return d.empty(ctx, node)
	case deadline > 0 && time.Since(since) > deadline:
		d.say(ctx, node, events.FailedDraining,
			fmt.Sprintf("Pods have delayed the drain of this node for more than %s, and no NodeClaim owns the node: the operator removes "+
				"its instance with %d pods", deadline, len(pods)), len(pods))
		return true, nil
	case !node.DeletionTimestamp.IsZero() && slices.Contains(node.Finalizers, karpv1.TerminationFinalizer):
		return false, nil // core drains a Node that is being deleted
	}
	d.say(ctx, node, "", fmt.Sprintf("The operator drains this node, because no NodeClaim owns it; remaining pods: %d", len(pods)), len(pods))
	return false, d.evict(ctx, node, pods)
}

// Keep ends the draining of an instance that a NodeClaim has got: its Node takes pods again. For keptTTL the Node is not drained, even
// though no NodeClaim's status names the instance yet. Keep makes a request only if the cache has a Node of this instance.
func (d *Drainer) Keep(ctx context.Context, instance claims.Node) error {
	// kept is set before the Node is read. A concurrent Vacate may have checked kept before. Either its taint is written before the read
	// below, and lift removes the taint. Or Vacate checks kept again after it has written the taint, and removes the taint itself.
	d.kept.Set(nodeclaim.ProviderID(instance.InstanceID), true, keptTTL)
	if instance.Name != "" {
		d.kept.Set(instance.Name, true, keptTTL)
	}
	nodes, err := controllers.NodesOf(ctx, d.kube, instance)
	if err != nil {
		return err
	}
	for i := range nodes {
		if err := d.lift(ctx, nodes[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// isKept returns whether a NodeClaim has just got the Node's instance.
func (d *Drainer) isKept(node *corev1.Node) bool {
	id := node.Spec.ProviderID
	if id == "" {
		id = node.Name
	}
	_, kept := d.kept.Get(id)
	return kept
}

// lift removes the taint of a drain from a Node. It reads the Node from the API server, because the cache may not have the taint yet.
func (d *Drainer) lift(ctx context.Context, name string) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		list := &corev1.NodeList{} // a list, because a Get would need a right that the operator does not need otherwise
		err := d.live.List(ctx, list, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, name)})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		node := &list.Items[0]
		stored := node.DeepCopy()
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.MatchTaint(&karpv1.DisruptedNoScheduleTaint)
		})
		if len(node.Spec.Taints) == len(stored.Spec.Taints) {
			return nil
		}
		if node.Labels[corev1.LabelNodeExcludeBalancers] == excludedBy {
			delete(node.Labels, corev1.LabelNodeExcludeBalancers)
		}
		log.FromContext(ctx).Info("stopped draining a node, because a NodeClaim owns it now", "node", name)
		return d.kube.Patch(ctx, node, controllers.Lock(stored))
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the drain taint from node %s: %w", name, err)
	}
	return nil
}

// Settled returns how many pods have to leave the Node before it is empty. It does not count pods of DaemonSets, because these follow the
// Node's taints.
func (d *Drainer) Settled(ctx context.Context, node *corev1.Node) (int, error) {
	pods, err := d.leaving(ctx, node)
	return len(slices.DeleteFunc(pods, podutils.IsOwnedByDaemonSet)), err
}

func (d *Drainer) leaving(ctx context.Context, node *corev1.Node) ([]*corev1.Pod, error) {
	pods, err := nodeutils.GetPods(ctx, d.kube, node.Name)
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !podutils.IsWaitingEviction(pod, clock.RealClock{}) }), err
}

// Taint puts a taint on a Node. It returns a conflict if another client has changed the Node since the read. If the Node has registered,
// load balancers may use it, so Taint also sets the label that excludes the Node from load balancers.
func (d *Drainer) Taint(ctx context.Context, node *corev1.Node, taint corev1.Taint) error {
	stored := node.DeepCopy()
	taint.TimeAdded = new(metav1.Now())
	node.Spec.Taints = append(node.Spec.Taints, taint)
	if _, served := node.Labels[karpv1.NodeRegisteredLabelKey]; served {
		node.Labels[corev1.LabelNodeExcludeBalancers] = excludedBy
	}
	if err := d.kube.Patch(ctx, node, controllers.Lock(stored)); err != nil {
		return fmt.Errorf("tainting node %s: %w", node.Name, err)
	}
	return nil
}

// closedSince returns the time since which a taint has kept pods off the Node, false if no such taint is on the Node. A taint without a
// time counts from the Node's creation: the Node joined with the taint, or core put it on while the Node still had its NodeClaim.
func closedSince(node *corev1.Node) (time.Time, bool) {
	for _, t := range node.Spec.Taints {
		if t.MatchTaint(&karpv1.DisruptedNoScheduleTaint) || t.MatchTaint(&karpv1.UnregisteredNoExecuteTaint) {
			return ptr.Deref(t.TimeAdded, node.CreationTimestamp).Time, true
		}
	}
	return time.Time{}, false
}

// empty returns whether the Node has no pod that has to leave, from a list of the API server: the cache may lack a pod.
func (d *Drainer) empty(ctx context.Context, node *corev1.Node) (bool, error) {
	list := &corev1.PodList{}
	if err := d.live.List(ctx, list,
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", node.Name)}); err != nil {
		return false, fmt.Errorf("listing the pods of node %s: %w", node.Name, err)
	}
	return !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return podutils.IsWaitingEviction(&pod, clock.RealClock{}) }), nil
}

// evict evicts the first group of pods. It publishes the cause that holds a pod of the group.
func (d *Drainer) evict(ctx context.Context, node *corev1.Node, pods []*corev1.Pod) error {
	first := slices.MinFunc(pods, func(a, b *corev1.Pod) int { return turn(a) - turn(b) })
	var held []string
	var failed []error
	for _, pod := range pods {
		if turn(pod) != turn(first) || podutils.IsTerminating(pod) {
			continue
		}
		reason, err := d.evictOne(ctx, pod)
		failed = append(failed, err)
		if reason != "" {
			held = append(held, reason)
		}
	}
	if len(held) > 0 {
		slices.Sort(held)
		if more := len(held) - 1; more > 0 {
			held[0] += fmt.Sprintf(", and %d more", more)
		}
		d.say(ctx, node, events.FailedDraining, "Failed to drain node: "+held[0], len(pods))
	}
	return errors.Join(failed...)
}

// turn returns the group in which a pod leaves: 0 for ordinary pods, 1 for pods of DaemonSets, 2 for critical pods, and 3 for critical pods
// of DaemonSets. A lower group leaves first.
func turn(pod *corev1.Pod) int {
	n := 0
	if podutils.IsOwnedByDaemonSet(pod) {
		n = 1
	}
	if pod.Spec.PriorityClassName == "system-cluster-critical" || pod.Spec.PriorityClassName == "system-node-critical" {
		n += 2
	}
	return n
}

// evictOne evicts a pod, and returns the cause that holds the pod, "" if the pod was evicted or is gone.
func (d *Drainer) evictOne(ctx context.Context, pod *corev1.Pod) (string, error) {
	if !podutils.IsEvictable(pod, clock.RealClock{}, d.recorder) {
		return fmt.Sprintf("pod %s/%s has the annotation %s", pod.Namespace, pod.Name, karpv1.DoNotDisruptAnnotationKey), nil
	}
	err := d.kube.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return "", nil // the pod is gone, or its name now belongs to another pod
	case apierrors.IsTooManyRequests(err):
		return fmt.Sprintf("a PodDisruptionBudget keeps pod %s/%s", pod.Namespace, pod.Name), nil
	case apierrors.IsInternalError(err):
		// The API server returns this error for a pod with two PodDisruptionBudgets, which it does not support.
		return fmt.Sprintf("pod %s/%s cannot be evicted: %s", pod.Namespace, pod.Name, err), nil
	case err != nil:
		return "", fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	d.recorder.Publish(terminatorevents.EvictPod(pod, "no NodeClaim owns its node"))
	return "", nil
}

// say publishes and logs a message about a Node, unless it is the same as the last message. A message without a reason means only that the
// Node is being drained, so say publishes it only as the first message about the Node.
func (d *Drainer) say(ctx context.Context, node *corev1.Node, reason, message string, pods int) {
	before, said := d.said.Get(node.UID)
	if said && (reason == "" || before == message) {
		d.said.Set(node.UID, before, saidTTL)
		return
	}
	d.said.Set(node.UID, message, saidTTL)
	e := events.Event{InvolvedObject: node, Type: corev1.EventTypeNormal, Reason: "DrainingUnclaimed", Message: message}
	if reason != "" {
		e.Type, e.Reason = corev1.EventTypeWarning, reason
	}
	d.recorder.Publish(e)
	log.FromContext(ctx).Info("draining a node that no NodeClaim owns", "node", node.Name, "pods", pods, "state", message)
}
