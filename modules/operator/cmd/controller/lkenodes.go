package main

import (
	"context"
	"fmt"
	"sync/atomic"

	operatorcontroller "github.com/awslabs/operatorpkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// lkeNodes are nodes of LKE node pools.
type lkeNodes struct {
	platform *platform
	found    discovery.Cluster
	pools    *lkepool.Allocator
	tracker  *discovery.Tracker

	taintReturned atomic.Bool // LKE puts back the pool's taint for unregistered nodes
}

func (n *lkeNodes) find(ctx context.Context, o options.Options) (string, error) {
	var err error
	n.found, err = discovery.Find(ctx, n.platform.client, discovery.Wanted{
		Name: o.ClusterName, Region: o.ClusterRegion, URL: o.APIURL, Scopes: n.platform.scopes.Last, Needs: optionalScopes(o),
	})
	return n.found.Region, err
}

func (n *lkeNodes) open(o options.Options) error {
	backend, err := lke.New(n.platform.client, n.found.Cluster)
	if err != nil {
		return fmt.Errorf("setting up LKE cluster %s: %w", n.found.Name, err)
	}
	n.pools, err = lkepool.New(backend, lkepool.Config{
		RetryDelay: o.RetryDelay, OrphanTTL: o.OrphanTTL, SettleTime: o.TagVerificationTimeout,
		MaxNodes: o.MaxNodes, MaxHourlyPrice: o.MaxHourlyPrice, HourlyPrice: n.platform.catalog.HourlyUSD,
		Observer: lkepool.Observer{Action: n.platform.metrics.Action}, Holder: n.platform.holders.Holder,
	})
	if err != nil {
		return fmt.Errorf("setting up the pools of LKE cluster %s: %w", n.found.Name, err)
	}
	return nil
}

func (n *lkeNodes) join(context.Context, options.Options, *coreoperator.Operator, *nodeclass.Lookup) error {
	n.tracker = discovery.NewTracker(n.platform.client, n.found, answerTTL)
	return nil
}

func (n *lkeNodes) begin() { n.pools.Begin() }

func (n *lkeNodes) provider(o options.Options, kube client.Reader, config cloudprovider.Config) *cloudprovider.CloudProvider {
	config.Cluster = n.found
	// Once LKE was seen to put the taint back, it does more harm than good.
	config.UnregisteredTaint = func() bool { return o.UnregisteredTaint && !n.taintReturned.Load() }
	config.ControlPlaneVersion = func(ctx context.Context) string { return n.tracker.Cluster(ctx).Version }
	return cloudprovider.New(kube, n.pools, n.platform.catalog, config)
}

func (n *lkeNodes) engine() engine { return n.pools }

func (n *lkeNodes) cluster(ctx context.Context) status.Cluster {
	cluster := n.tracker.Cluster(ctx)
	return status.Cluster{Mode: v1alpha1.ModeLKE, Tier: cluster.Tier, Region: cluster.Region, ControlPlaneVersion: cluster.Version}
}

func (n *lkeNodes) controllers(op *coreoperator.Operator, drainer *drain.Drainer, provider *cloudprovider.CloudProvider, o options.Options) ([]operatorcontroller.Controller, error) {
	if o.AdoptAlpha {
		if err := op.Add(adoption.New(adoption.Config{
			API: n.platform.client, Kube: op.GetClient(), ClusterID: n.found.ID, Wanted: provider.Wanted, Events: op.EventRecorder,
		})); err != nil {
			return nil, fmt.Errorf("adding the adoption of nodes: %w", err)
		}
	}
	return []operatorcontroller.Controller{unclaimed.NewController(op.GetClient(), n.pools, drainer, op.EventRecorder, unclaimed.Config{
		Cluster: n.found.ID, OnUnidentified: n.platform.metrics.Unidentified, OnReturned: func() { n.taintReturned.Store(true) },
	})}, nil
}

func (n *lkeNodes) facts() []fact {
	return []fact{
		{"discovered the LKE cluster", []any{"cluster", n.found.Name, "id", n.found.ID}},
		{"the LKE cluster's tier", []any{"tier", n.found.Tier}},
		{"the LKE cluster's region", []any{"region", n.found.Region}},
		{"the LKE cluster's version", []any{"version", n.found.Version}},
	}
}
