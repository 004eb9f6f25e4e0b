package lke

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/awslabs/operatorpkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke/adoption"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke/registrationtaint"
)

// Find implements mode.Find.
func Find(ctx context.Context, client *linode.Client, wanted discovery.Wanted) (mode.Cluster, error) {
	found, err := FindCluster(ctx, client, wanted)
	cluster := mode.Cluster{Region: found.Region, Tier: found.Tier, Log: found.log}
	cluster.New = func(_ context.Context, deps mode.Deps) (mode.Nodes, error) { return New(found, deps) }
	return cluster, err
}

// PendingTimeout is the time after which garbage collection removes a place of a pool that has no Linode. Recorded Linodes have their ID
// within seconds. Core deletes a NodeClaim without a node after 5 minutes. If the place outlived its NodeClaim, each further NodeClaim
// would add another place.
const PendingTimeout = 3 * time.Minute

// New returns the nodes of a cluster's pools.
func New(cluster Cluster, deps mode.Deps) (mode.Nodes, error) {
	o, op := deps.Options, deps.Operator
	platform, err := lke.New(deps.Linode, cluster.Cluster)
	if err != nil {
		return mode.Nodes{}, fmt.Errorf("setting up LKE cluster %s: %w", cluster.Name, err)
	}
	pools, err := allocator.New(platform, lkepool.Config{
		PendingTimeout: PendingTimeout, RetryDelay: o.RetryDelay, OrphanTTL: o.OrphanTTL,
		SettleTime: o.SettleTime, ListLag: o.ListLag, LateEffect: o.LateEffect,
		Ceilings: claims.Ceilings{MaxNodes: o.MaxNodes, MaxHourlyPrice: o.MaxHourlyPrice, HourlyPrice: deps.HourlyPrice},
		Observer: claims.Observer{Action: deps.Metrics.Action}, Records: deps.Holder,
	})
	if err != nil {
		return mode.Nodes{}, fmt.Errorf("setting up the pools of LKE cluster %s: %w", cluster.Name, err)
	}
	tracker := NewTracker(deps.Linode, cluster, mode.AnswerTTL)
	var taintReturned atomic.Bool // LKE puts back the pool's taint for unregistered nodes, which then does more harm than good
	backend := NewBackend(Config{
		Cluster: cluster, Pools: pools, Inventory: deps.Inventory,
		ControlPlaneVersion: func(ctx context.Context) string { return tracker.Cluster(ctx).Version },
		UnregisteredTaint:   func() bool { return o.UnregisteredTaint && !taintReturned.Load() },
	})
	nodes := mode.Nodes{
		Backend: backend, Engine: pools, Begin: func(released bool) {
			if released {
				pools.Begin(allocator.Ended)
				return
			}
			pools.Begin(allocator.MayStillWrite)
		},
		Cluster: func(ctx context.Context) status.Cluster {
			c := tracker.Cluster(ctx)
			return status.Cluster{Mode: v1alpha1.ModeLKE, Tier: c.Tier, Region: c.Region, ControlPlaneVersion: c.Version}
		},
		Controllers: []controller.Controller{
			registrationtaint.NewController(op.GetClient(), pools, deps.Drainer, op.EventRecorder, registrationtaint.Config{
				Cluster: cluster.ID, OnUnidentified: deps.Metrics.Unidentified, OnReturned: func() { taintReturned.Store(true) },
			}),
		},
		Naming: backend.Naming,
		NodeLabels: func(instanceID int) map[string]string {
			return map[string]string{registrationtaint.PoolIDLabel: strconv.Itoa(pools.PoolOf(instanceID))}
		},
	}
	if o.AdoptAlpha {
		nodes.Runnables = []manager.Runnable{adoption.New(adoption.Config{
			API: deps.Linode, Kube: op.GetClient(), ClusterID: cluster.ID, Wanted: backend.Request, Events: op.EventRecorder,
		})}
	}
	return nodes, nil
}
