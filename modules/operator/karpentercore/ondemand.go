package karpentercore

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// OnDemand returns the client that core's controllers get: a NodeClaim for spot capacity becomes one for on-demand capacity when it is
// created. Everything else passes unchanged.
//
// When core replaces an on-demand node by a cheaper one and the NodePool leaves the capacity type open, it narrows the replacement to
// spot without checking that such an offering exists. The instance types that it leaves are cheaper by on-demand prices, so an
// on-demand node of one of them is meant. Core makes no other NodeClaim for spot; one that a user makes does not pass through this
// client and is refused.
func OnDemand(next client.Client) client.Client { return onDemand{next} }

type onDemand struct{ client.Client }

// Create changes the object itself, which core goes on to use.
func (c onDemand) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if nodeClaim, ok := object.(*karpv1.NodeClaim); ok {
		demand(nodeClaim)
	}
	return c.Client.Create(ctx, object, options...)
}

func demand(nodeClaim *karpv1.NodeClaim) {
	spot := []string{karpv1.CapacityTypeSpot}
	for i := range nodeClaim.Spec.Requirements {
		r := &nodeClaim.Spec.Requirements[i]
		if r.Key == karpv1.CapacityTypeLabelKey && r.Operator == corev1.NodeSelectorOpIn && slices.Equal(r.Values, spot) {
			r.Values = []string{karpv1.CapacityTypeOnDemand}
		}
	}
	if nodeClaim.Labels[karpv1.CapacityTypeLabelKey] == karpv1.CapacityTypeSpot {
		nodeClaim.Labels[karpv1.CapacityTypeLabelKey] = karpv1.CapacityTypeOnDemand
	}
}
