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

// EventNodeRefused is the reason of the event on a NodeClaim if a Node with a wrong name has the NodeClaim's provider ID.
const EventNodeRefused = "NodeRefused"

// A Naming returns whether a Node may be the node of a NodeClaim, judged by the Node's name, and the name that the NodeClaim's node must
// have, "" if more than one name is possible. An error means that the name is not known now.
type Naming func(ctx context.Context, claim *karpv1.NodeClaim, node string) (own bool, name string, err error)

// ByName returns the Naming of nodes whose name is known before the node is made.
func ByName(nodeName func(nodeClaim string) string) Naming {
	return func(_ context.Context, claim *karpv1.NodeClaim, node string) (bool, string, error) {
		name := nodeName(claim.Name)
		return name == node, name, nil
	}
}

// named is a client that shows a NodeClaim's provider ID only on Nodes whose name the NodeClaim's node can have.
type named struct {
	client.Client
	naming   Naming
	recorder events.Recorder
}

// Named returns a manager whose client hides false Nodes from core. A Node is false if it has the provider ID of a NodeClaim whose node
// must have another name. A list of Nodes by provider ID does not contain the false Node. A read of the false Node by name returns it
// without provider ID and without the label of its NodePool.
//
// Core counts any Node with the NodeClaim's provider ID as the NodeClaim's node: core sets the Node's labels, removes its taint, repairs
// the NodeClaim because of the Node's conditions, and deletes the NodeClaim together with the Node. But a kubelet sets the provider ID, the
// labels and the finalizers of its own Node. So a kubelet could take over the NodeClaim of another NodePool, or cause its replacement. A
// kubelet cannot choose its name, which is in its certificate. naming compares this name with the facts that the mode knows about the
// NodeClaim's instance. A false Node keeps its taint karpenter.sh/unregistered, and an event on the NodeClaim reports it. The NodeClaim's
// own node is registered when it joins. A NodeClaim that is already registered with a Node keeps this Node, whatever its name is.
//
// Lists of all Nodes contain false Nodes, too: core compares names there, and a look at each Node's NodeClaim would cost more than it
// proves.
func Named(next manager.Manager, naming Naming, recorder events.Recorder) manager.Manager {
	return namedManager{next, NamedClient(next.GetClient(), naming, recorder)}
}

type namedManager struct {
	manager.Manager
	kube client.Client
}

// GetClient implements manager.Manager.
func (m namedManager) GetClient() client.Client { return m.kube }

// NamedClient returns the client of a [Named] manager.
func NamedClient(next client.Client, naming Naming, recorder events.Recorder) client.Client {
	return named{next, naming, recorder}
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
	if len(claims) == 0 {
		return nil
	}
	own, name, err := n.isOf(ctx, node.Name, claims)
	if err != nil || own {
		return err
	}
	n.report(&claims[0], node.Name, name)
	node.Spec.ProviderID = ""
	delete(node.Labels, karpv1.NodePoolLabelKey)
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
	kept := nodes.Items[:0:0]
	for i := range nodes.Items {
		node := &nodes.Items[i]
		own, name, err := n.isOf(ctx, node.Name, claims)
		switch {
		case err != nil:
			return err
		case own:
			kept = append(kept, *node)
			continue
		}
		log.FromContext(ctx).Info("a Node has the provider ID of a NodeClaim whose node has another name; Karpenter does not register this Node",
			"Node", node.Name, "NodeClaim", claims[0].Name, "name", name)
		n.report(&claims[0], node.Name, name)
	}
	nodes.Items = kept
	return nil
}

// claimsOf returns the NodeClaims with a provider ID. It does not copy them out of the cache, so the caller must not change them.
func (n named) claimsOf(ctx context.Context, providerID string) ([]karpv1.NodeClaim, error) {
	claims := &karpv1.NodeClaimList{}
	if err := n.Client.List(ctx, claims, client.MatchingFields{"status.providerID": providerID}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the NodeClaims of the provider ID %s: %w", providerID, err)
	}
	return claims.Items, nil
}

// isOf returns whether a Node may be the node of one of the NodeClaims. If it may not, name is the name that the node of the first
// NodeClaim must have. isOf does not change the NodeClaims.
func (n named) isOf(ctx context.Context, node string, claims []karpv1.NodeClaim) (own bool, name string, err error) {
	if slices.ContainsFunc(claims, func(claim karpv1.NodeClaim) bool {
		return claim.Status.NodeName == node && claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue()
	}) {
		return true, node, nil
	}
	for i := range claims {
		own, wanted, err := n.naming(ctx, &claims[i], node)
		if err != nil || own {
			return own, wanted, err
		}
		if i == 0 {
			name = wanted
		}
	}
	return false, name, nil
}

func (n named) report(claim *karpv1.NodeClaim, node, name string) {
	n.recorder.Publish(events.Event{
		InvolvedObject: claim.DeepCopy(), Type: corev1.EventTypeWarning, Reason: EventNodeRefused,
		Message: fmt.Sprintf("Node %s has this NodeClaim's provider ID %s, but the NodeClaim's node must be named %s: Karpenter does "+
			"not register Node %s, which keeps its taint; delete this Node if it belongs to another Linode", node, claim.Status.ProviderID,
			name, node),
		DedupeValues: []string{string(claim.UID), node},
	})
}

// providerIDOf returns the provider ID to which options limit a list of Nodes, false if they do not.
func providerIDOf(options []client.ListOption) (string, bool) {
	var all client.ListOptions
	all.ApplyOptions(options)
	if all.FieldSelector == nil {
		return "", false
	}
	return fields.Selector.RequiresExactMatch(all.FieldSelector, "spec.providerID")
}
