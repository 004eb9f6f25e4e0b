package karpentercore

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
)

// EventNodeRefused is the reason of the event on a NodeClaim whose provider ID a Node of another name has.
const EventNodeRefused = "NodeRefused"

// named is a client that lists, by provider ID, only Nodes whose name is the one of the NodeClaim with that provider ID.
type named struct {
	client.Client
	nodeName func(nodeClaim string) string
	recorder events.Recorder
}

// Named returns a client whose lists of Nodes by provider ID leave out those that have another name than the NodeClaim's node must have.
//
// Core takes the Node with the NodeClaim's provider ID for its node, and gives it the labels and takes its taint off. But a kubelet sets
// the provider ID of its own Node, once and to any text, so a node could take the NodeClaim of another NodePool. Its name it cannot
// choose: that is in its certificate. A Node that is left out keeps its taint karpenter.sh/unregistered and is reported by an event on the
// NodeClaim, whose own node is registered when it comes. A NodeClaim that was registered with a Node keeps it, whatever its name is.
func Named(next client.Client, nodeName func(nodeClaim string) string, recorder events.Recorder) client.Client {
	return named{next, nodeName, recorder}
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
	claims := &karpv1.NodeClaimList{}
	if err := n.Client.List(ctx, claims, client.MatchingFields{"status.providerID": providerID}); err != nil {
		return fmt.Errorf("listing the NodeClaims of the provider ID %s: %w", providerID, err)
	}
	if len(claims.Items) == 0 {
		return nil
	}
	nodes.Items = slices.DeleteFunc(nodes.Items, func(node corev1.Node) bool {
		its := func(claim karpv1.NodeClaim) bool {
			registered := claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered)
			return n.nodeName(claim.Name) == node.Name || registered && claim.Status.NodeName == node.Name
		}
		if slices.ContainsFunc(claims.Items, its) {
			return false
		}
		n.report(ctx, &claims.Items[0], node.Name)
		return true
	})
	return nil
}

func (n named) report(ctx context.Context, claim *karpv1.NodeClaim, node string) {
	log.FromContext(ctx).Info("a Node has the provider ID of a NodeClaim whose node has another name; it is not registered", "Node", node,
		"NodeClaim", claim.Name, "name", n.nodeName(claim.Name))
	n.recorder.Publish(events.Event{
		InvolvedObject: claim, Type: corev1.EventTypeWarning, Reason: EventNodeRefused,
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
