// Package ondemand keeps Karpenter core from asking for spot capacity, which Linode does not have.
//
// When core wants to replace an on-demand node by a cheaper one, and the NodePool leaves the capacity type open, it
// narrows the replacement to spot (pkg/controllers/disruption/consolidation.go, v1.14.1: "We are consolidating a
// node from OD -> [OD,Spot]"), without looking whether any offering is. Such a NodeClaim could never be launched:
// nodes would not move to cheaper types, and core would try for ever. The types that core leaves in the NodeClaim
// are cheaper than the node by the prices of the offerings there are, which are all on-demand, so an on-demand node
// of one of them is what was meant.
//
// Core never makes a NodeClaim for spot otherwise: its scheduler makes none without an offering that fits. A NodeClaim
// that a user makes does not pass through this client, and one that asks for spot gets nothing.
//
// Called by cmd/controller, which gives core's controllers this client. Safe for concurrent use, as the client in it is.
package ondemand

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Client returns a client through which NodeClaims for spot become NodeClaims for on-demand capacity when they are
// created. Everything else passes unchanged.
func Client(next client.Client) client.Client { return creator{next} }

type creator struct{ client.Client }

// Create changes the object itself, from which core goes on.
func (c creator) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
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
