package karpentercore

import (
	"context"
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
)

// EventNodeRefused is the reason of the event on a NodeClaim whose provider ID a Node of another name has.
const EventNodeRefused = "NodeRefused"

// named is a client for which a Node has the provider ID of a NodeClaim only if its name is the one that the NodeClaim's node must have.
type named struct {
	client.Client
	nodeName func(nodeClaim string) string
	recorder events.Recorder
}

// Named returns a manager whose client hides from core that a Node has the provider ID of a NodeClaim whose node has another name: a list
// of Nodes by provider ID is without it, and a Node that is read by name has neither a provider ID nor a NodePool.
//
// Core takes the Node with the NodeClaim's provider ID for its node: it gives it the labels and takes its taint off, repairs the NodeClaim
// for the Node's conditions, and deletes the NodeClaim with the Node. But a kubelet sets the provider ID, the labels and the finalizers of
// its own Node, so a node could take the NodeClaim of another NodePool, or have it replaced. Its name it cannot choose: that is in its
// certificate. Such a Node keeps its taint karpenter.sh/unregistered and is reported by an event on the NodeClaim, whose own node is
// registered when it comes. A NodeClaim that was registered with a Node keeps it, whatever its name is.
//
// Lists of all Nodes are whole: core compares names there, and a look at each Node's NodeClaim would cost more than it proves.
func Named(next manager.Manager, nodeName func(nodeClaim string) string, recorder events.Recorder) manager.Manager {
	return namedManager{next, NamedClient(next.GetClient(), nodeName, recorder)}
}

type namedManager struct {
	manager.Manager
	kube client.Client
}

// GetClient implements manager.Manager.
func (m namedManager) GetClient() client.Client { return m.kube }

// NamedClient returns the client of a [Named] manager.
func NamedClient(next client.Client, nodeName func(nodeClaim string) string, recorder events.Recorder) client.Client {
	return named{next, nodeName, recorder}
}

// Get implements client.Client.
func (n named) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := n.Client.Get(ctx, key, object, options...); err != nil {
		return err
	}
	node, ok := object.(*corev1.Node)
	if !ok || node.Spec.ProviderID == "" {
		return nil
	}
	claims, err := n.claimsOf(ctx, node.Spec.ProviderID)
	if err != nil {
		return err
	}
	if len(claims) > 0 && !n.isOf(node.Name, claims) {
		n.report(&claims[0], node.Name)
		node.Spec.ProviderID = ""
		delete(node.Labels, karpv1.NodePoolLabelKey)
	}
	return nil
}

// List implements client.Client.
func (n named) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := n.Client.List(ctx, list, options...); err != nil {
		return err
	}
	nodes, ok := list.(*corev1.NodeList)
	if !ok || len(nodes.Items) == 0 {
		return nil
	}
	providerID, ok := providerIDOf(options)
	if !ok {
		return nil
	}
	claims, err := n.claimsOf(ctx, providerID)
	if err != nil || len(claims) == 0 {
		return err
	}
	nodes.Items = slices.DeleteFunc(nodes.Items, func(node corev1.Node) bool {
		if n.isOf(node.Name, claims) {
			return false
		}
		log.FromContext(ctx).Info("a Node has the provider ID of a NodeClaim whose node has another name; it is not registered",
			"Node", node.Name, "NodeClaim", claims[0].Name, "name", n.nodeName(claims[0].Name))
		n.report(&claims[0], node.Name)
		return true
	})
	return nil
}

// claimsOf returns the NodeClaims with a provider ID, which are the cache's own.
func (n named) claimsOf(ctx context.Context, providerID string) ([]karpv1.NodeClaim, error) {
	claims := &karpv1.NodeClaimList{}
	if err := n.Client.List(ctx, claims, client.MatchingFields{"status.providerID": providerID}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the NodeClaims of the provider ID %s: %w", providerID, err)
	}
	return claims.Items, nil
}

// isOf returns whether a Node is that of one of the NodeClaims, which it leaves as they are.
func (n named) isOf(node string, claims []karpv1.NodeClaim) bool {
	return slices.ContainsFunc(claims, func(claim karpv1.NodeClaim) bool {
		return n.nodeName(claim.Name) == node || claim.Status.NodeName == node &&
			claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue()
	})
}

func (n named) report(claim *karpv1.NodeClaim, node string) {
	n.recorder.Publish(events.Event{
		InvolvedObject: claim.DeepCopy(), Type: corev1.EventTypeWarning, Reason: EventNodeRefused,
		Message: fmt.Sprintf("Node %s has this NodeClaim's provider ID %s, and its node must be named %s: it is not registered "+
			"and stays tainted; "+
			"remove it if its Linode is another one", node, claim.Status.ProviderID, n.nodeName(claim.Name)),
		DedupeValues: []string{string(claim.UID), node},
	})
}

// providerIDOf returns the provider ID that a list of Nodes is limited to.
func providerIDOf(options []client.ListOption) (string, bool) {
	var all client.ListOptions
	all.ApplyOptions(options)
	if all.FieldSelector == nil {
		return "", false
	}
	return fields.Selector.RequiresExactMatch(all.FieldSelector, "spec.providerID")
}
