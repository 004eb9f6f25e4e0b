package unclaimed

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Client returns the client that Karpenter core is to have. It shows core the taint on every Node of LKE that it has
// not registered yet and looks up by provider ID, which it does for the Node of a NodeClaim.
//
// Core says an error, in the log and in an event, about each Node that comes without the taint, and goes on. Here the
// Controller puts it on, and nothing is to be done about it: usually before core looks, but a Node may get its provider
// ID in the same moment, or pods may run on it already and must not be driven away. Core registers the Node with a write
// that names the version it read and leaves the taint out, so that it makes no difference whether it was really there.
func Client(kube client.Client) client.Client { return coreClient{kube} }

type coreClient struct{ client.Client }

const byProviderID = "spec.providerID"

// List adds the taint to what is a copy of the cache's object.
func (c coreClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	nodes, ok := list.(*corev1.NodeList)
	if !ok {
		return nil
	}
	how := (&client.ListOptions{}).ApplyOptions(opts)
	if how.FieldSelector == nil || how.UnsafeDisableDeepCopy != nil && *how.UnsafeDisableDeepCopy {
		return nil
	}
	if _, exact := how.FieldSelector.RequiresExactMatch(byProviderID); !exact {
		return nil
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if node.Labels[PoolIDLabel] != "" && !registered(node) && !tainted(node) {
			node.Spec.Taints = append(node.Spec.Taints, karpv1.UnregisteredNoExecuteTaint)
		}
	}
	return nil
}
