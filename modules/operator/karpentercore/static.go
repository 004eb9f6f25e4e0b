package karpentercore

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Held returns a client that does not create the NodeClaims for which held returns an error.
//
// Core makes the NodeClaims of a static NodePool without asking what can be bought, and the next one as soon as one is given up; while a
// NodeClaim has no provider ID it plans nothing, for any pod of the cluster. With an error it tries again after pauses that grow.
//
// reservations is core's state of NodePools. Core reserves a NodeClaim there before it creates it, and gives the reservation up after an
// error; in between it may have forgotten the NodePool, with the NodeClaim before that is gone now, and then it panics. The error
// therefore comes when that is over, and restores what core gives up.
func Held(next client.Client, held func(*karpv1.NodeClaim) error, reservations func() Reservations) client.Client {
	return holding{next, held, reservations}
}

// Reservations are the NodeClaims of static NodePools that core is about to create; *state.NodePoolState has them.
type Reservations interface {
	ReserveNodeCount(nodePool string, limit, wanted int64) int64
}

// forgetting is how long core takes at most to remove a NodeClaim that is gone from its state.
const forgetting = 2 * time.Second

type holding struct {
	client.Client
	held         func(*karpv1.NodeClaim) error
	reservations func() Reservations
}

// Create implements client.Client.
func (c holding) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if nodeClaim, ok := object.(*karpv1.NodeClaim); ok {
		if err := c.held(nodeClaim); err != nil {
			timer := time.NewTimer(forgetting)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			c.reservations().ReserveNodeCount(nodeClaim.Labels[karpv1.NodePoolLabelKey], 0, 0)
			return err
		}
	}
	return c.Client.Create(ctx, object, options...)
}
