package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// NodesOf returns the Nodes of an instance: the Nodes with its provider ID, or else the Node with its name if this Node has no provider
// ID. kube may be a cache; it needs core's index of Nodes by provider ID.
func NodesOf(ctx context.Context, kube client.Reader, instance claims.Node) ([]corev1.Node, error) {
	list := &corev1.NodeList{}
	if err := kube.List(ctx, list, client.MatchingFields{"spec.providerID": nodeclaim.ProviderID(instance.InstanceID)}); err != nil {
		return nil, fmt.Errorf("listing the nodes of instance %d: %w", instance.InstanceID, err)
	}
	if len(list.Items) > 0 || instance.Name == "" {
		return list.Items, nil
	}
	found := &corev1.Node{}
	switch err := kube.Get(ctx, types.NamespacedName{Name: instance.Name}, found); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", instance.Name, err)
	case found.Spec.ProviderID != "":
		return nil, nil
	}
	return []corev1.Node{*found}, nil
}
