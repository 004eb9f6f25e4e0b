package karpentercore

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Held returns a client that does not create the NodeClaims for which held returns an error.
//
// Core makes the NodeClaims of a static NodePool without asking what can be bought, and the next one as soon as one is given up; while a
// NodeClaim has no provider ID it plans nothing, for any pod of the cluster. With an error it tries again after pauses that grow.
func Held(next client.Client, held func(*karpv1.NodeClaim) error) client.Client {
	return holding{next, held}
}

type holding struct {
	client.Client
	held func(*karpv1.NodeClaim) error
}

// Create implements client.Client.
func (c holding) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if nodeClaim, ok := object.(*karpv1.NodeClaim); ok {
		if err := c.held(nodeClaim); err != nil {
			return err
		}
	}
	return c.Client.Create(ctx, object, options...)
}
