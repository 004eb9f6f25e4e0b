package karpentercore

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// creates is a client that calls its function before for each NodeClaim that core is about to create. If the function returns an error, the
// NodeClaim is not created. All other calls pass unchanged.
type creates struct {
	client.Client
	before func(context.Context, *karpv1.NodeClaim) error
}

// Create implements client.Client.
func (c creates) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if nodeClaim, ok := object.(*karpv1.NodeClaim); ok {
		if err := c.before(ctx, nodeClaim); err != nil {
			return err
		}
	}
	return c.Client.Create(ctx, object, options...)
}

// OnDemand returns the client for core's controllers. When core creates a NodeClaim for spot capacity, the client changes it into a
// NodeClaim for on-demand capacity. It changes the object itself, which core continues to use.
//
// When core replaces an on-demand node by a cheaper node, and the NodePool leaves the capacity type open, core narrows the replacement to
// spot without checking that a spot offering exists. Core has selected the replacement's instance types because their on-demand prices are
// lower, so an on-demand node of one of these types is the intended replacement. Core makes no other NodeClaims for spot. A NodeClaim for
// spot that a user makes does not pass through this client, and is refused.
func OnDemand(next client.Client) client.Client {
	return creates{next, func(_ context.Context, nodeClaim *karpv1.NodeClaim) error {
		NarrowToOnDemand(nodeClaim)
		return nil
	}}
}

// NarrowToOnDemand changes a NodeClaim for spot capacity into a NodeClaim for on-demand capacity, as OnDemand does.
func NarrowToOnDemand(nodeClaim *karpv1.NodeClaim) {
	for i := range nodeClaim.Spec.Requirements {
		r := &nodeClaim.Spec.Requirements[i]
		if r.Key == karpv1.CapacityTypeLabelKey && r.Operator == corev1.NodeSelectorOpIn &&
			slices.Equal(r.Values, []string{karpv1.CapacityTypeSpot}) {
			r.Values = []string{karpv1.CapacityTypeOnDemand}
		}
	}
	if nodeClaim.Labels[karpv1.CapacityTypeLabelKey] == karpv1.CapacityTypeSpot {
		nodeClaim.Labels[karpv1.CapacityTypeLabelKey] = karpv1.CapacityTypeOnDemand
	}
}

// Held returns a client that does not create the NodeClaims for which held returns an error.
//
// Core makes the NodeClaims of a static NodePool without reading which plans can be bought, and makes the next NodeClaim as soon as it has
// given up a NodeClaim. While a NodeClaim has no provider ID, core plans no node for any pod of the cluster. So without held, a static
// NodePool that gets no nodes would stop all planning. After an error of held core tries again, with growing pauses.
func Held(next client.Client, held func(*karpv1.NodeClaim) error) client.Client {
	return creates{next, func(_ context.Context, nodeClaim *karpv1.NodeClaim) error { return held(nodeClaim) }}
}
