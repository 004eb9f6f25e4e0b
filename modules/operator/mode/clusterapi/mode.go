package clusterapi

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// New returns the nodes of a cluster's MachineDeployments.
func New(ctx context.Context, cluster, region string, deps mode.Deps) (mode.Nodes, error) {
	platform, err := connect(ctx, cluster, deps)
	if err != nil {
		return mode.Nodes{}, err
	}
	var seen *view
	o := deps.Options
	engine, err := allocator.New(platform, clusterapi.Config{
		OrphanTTL: o.OrphanTTL, Holder: holder(deps.Holder), Observer: claims.Observer{Action: deps.Metrics.Action},
		Ceilings: claims.Ceilings{MaxNodes: o.MaxNodes, MaxHourlyPrice: o.MaxHourlyPrice, HourlyPrice: deps.HourlyPrice},
		InstanceType: func(name string) string {
			d, _ := seen.deployment(name)
			return d.instanceType
		},
	})
	if err != nil {
		return mode.Nodes{}, fmt.Errorf("setting up the Machines of cluster %s: %w", cluster, err)
	}
	seen = newView(platform, region, deps.HourlyPrice)
	backend := &Backend{engine: engine, view: seen}
	version := newVersion(deps.Operator.KubernetesInterface.Discovery())
	return mode.Nodes{
		Backend: backend, Engine: backend, Catalog: &market{Catalog: deps.Catalog, view: seen, region: region},
		Begin: func(bool) { engine.Begin() }, Naming: backend.Naming,
		Cluster: func(context.Context) status.Cluster {
			return status.Cluster{Mode: v1alpha1.ModeClusterAPI, Region: region, ControlPlaneVersion: version.read(time.Now()),
				MachineDeployments: func(ctx context.Context, class *v1alpha1.LinodeNodeClass) status.Finding {
					return seen.check(ctx, deps.Operator.GetClient(), class)
				}}
		},
		Runnables: []manager.Runnable{seen},
	}, nil
}

// holder finds the NodeClaim of a provider ID.
func holder(of claims.Holder) func(string) (claims.Claimant, bool) {
	return func(providerID string) (claims.Claimant, bool) {
		id, err := nodeclaim.InstanceID(providerID)
		if err != nil || of == nil {
			return claims.Claimant{}, false
		}
		return of(id)
	}
}
