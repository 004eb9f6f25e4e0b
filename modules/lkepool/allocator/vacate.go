package allocator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
)

// vacate calls may for all nodes, a bounded number at a time, and returns the IDs
// of the nodes that may go. If may is nil, all nodes may go.
func vacate(ctx context.Context, may func(context.Context, claims.Node) (bool, error), nodes []lkepool.Node) ([]int, error) {
	agreed, errs := make([]bool, len(nodes)), make([]error, len(nodes))
	slots := make(chan struct{}, core.ParallelRemovals)
	var group sync.WaitGroup
	for i, node := range nodes {
		if agreed[i] = may == nil; agreed[i] {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if agreed[i], errs[i] = may(ctx, node.Node); errs[i] != nil {
				agreed[i], errs[i] = false, fmt.Errorf("vacating instance %d: %w", node.InstanceID, errs[i])
			}
		})
	}
	group.Wait()
	var ids []int
	for i, node := range nodes {
		if agreed[i] {
			ids = append(ids, node.InstanceID)
		}
	}
	return ids, errors.Join(errs...)
}
