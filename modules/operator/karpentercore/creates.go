package karpentercore

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// creates is a client that calls before for each NodeClaim that is to be created; after an error it is not. Everything else passes.
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

// OnDemand returns the client that core's controllers get: a NodeClaim for spot capacity becomes one for on-demand capacity when it is
// created. The object itself is changed, which core goes on to use.
//
// When core replaces an on-demand node by a cheaper one and the NodePool leaves the capacity type open, it narrows the replacement to
// spot without checking that such an offering exists. The instance types that it leaves are cheaper by on-demand prices, so an
// on-demand node of one of them is meant. Core makes no other NodeClaim for spot; one that a user makes does not pass through this
// client and is refused.
func OnDemand(next client.Client) client.Client {
	return creates{next, func(_ context.Context, nodeClaim *karpv1.NodeClaim) error {
		NarrowToOnDemand(nodeClaim)
		return nil
	}}
}

// NarrowToOnDemand turns a NodeClaim for spot capacity into one for on-demand capacity, as OnDemand does.
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
// Core makes the NodeClaims of a static NodePool without reading what can be bought, and the next one as soon as one is given up; while
// a NodeClaim has no provider ID it plans nothing, for any pod of the cluster. After an error it tries again, after pauses that grow.
func Held(next client.Client, held func(*karpv1.NodeClaim) error) client.Client {
	return creates{next, func(_ context.Context, nodeClaim *karpv1.NodeClaim) error { return held(nodeClaim) }}
}
