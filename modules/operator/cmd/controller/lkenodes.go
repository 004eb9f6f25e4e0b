package main

import (
	"context"
	"fmt"
	"sync/atomic"

	operatorcontroller "github.com/awslabs/operatorpkg/controller"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/adoption"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unclaimed"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
)

// lkeNodes are nodes of LKE node pools.
func lkeNodes(_ context.Context, p *platform, op *coreoperator.Operator, _ *nodeclass.Lookup, drainer *drain.Drainer,
	config cloudprovider.Config) (nodes, error) {
	o := p.options
	backend, err := lke.New(p.client, p.found.Cluster)
	if err != nil {
		return nodes{}, fmt.Errorf("setting up LKE cluster %s: %w", p.found.Name, err)
	}
	pools, err := lkepool.New(backend, lkepool.Config{
		RetryDelay: o.RetryDelay, OrphanTTL: o.OrphanTTL, SettleTime: o.TagVerificationTimeout,
		MaxNodes: o.MaxNodes, MaxHourlyPrice: o.MaxHourlyPrice, HourlyPrice: p.catalog.HourlyUSD,
		Observer: lkepool.Observer{Action: p.metrics.Action}, Holder: p.holders.Holder,
	})
	if err != nil {
		return nodes{}, fmt.Errorf("setting up the pools of LKE cluster %s: %w", p.found.Name, err)
	}
	tracker := discovery.NewTracker(p.client, p.found, answerTTL)
	config.ControlPlaneVersion = func(ctx context.Context) string { return tracker.Cluster(ctx).Version }
	var taintReturned atomic.Bool // LKE puts back the pool's taint for unregistered nodes, which then does more harm than good
	config.UnregisteredTaint = func() bool { return o.UnregisteredTaint && !taintReturned.Load() }
	provider := cloudprovider.New(op.GetClient(), pools, p.catalog, config)
	if o.AdoptAlpha {
		if err := add(op, adoption.New(adoption.Config{
			API: p.client, Kube: op.GetClient(), ClusterID: p.found.ID, Wanted: provider.Wanted, Events: op.EventRecorder,
		})); err != nil {
			return nodes{}, err
		}
	}
	return nodes{
		provider: provider, engine: pools, begin: pools.Begin,
		cluster: func(ctx context.Context) status.Cluster {
			cluster := tracker.Cluster(ctx)
			return status.Cluster{Mode: v1alpha1.ModeLKE, Tier: cluster.Tier, Region: cluster.Region, ControlPlaneVersion: cluster.Version}
		},
		controllers: []operatorcontroller.Controller{unclaimed.NewController(op.GetClient(), pools, drainer, op.EventRecorder, unclaimed.Config{
			Cluster: p.found.ID, OnUnidentified: p.metrics.Unidentified, OnReturned: func() { taintReturned.Store(true) },
		})},
	}, nil
}
