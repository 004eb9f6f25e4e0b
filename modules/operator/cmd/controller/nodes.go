package main

import (
	"context"

	operatorcontroller "github.com/awslabs/operatorpkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/client"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// nodes is what differs between the modes: where nodes come from. Its methods are called in their order here.
type nodes interface {
	// find checks the account and returns the region of new nodes.
	find(ctx context.Context, o options.Options) (region string, err error)
	// open sets up what makes nodes, once the catalogue is there.
	open(o options.Options) error
	// join completes it with what the Kubernetes cluster has.
	join(ctx context.Context, o options.Options, op *coreoperator.Operator, lookup *nodeclass.Lookup) error
	// begin makes it forget what it has seen, because this replica leads from now on.
	begin()
	// provider is core's CloudProvider; config has what both modes share.
	provider(o options.Options, kube client.Reader, config cloudprovider.Config) *cloudprovider.CloudProvider
	// engine is what the controllers of both modes collect and tag with.
	engine() engine
	// cluster is what LinodeNodeClasses are judged by.
	cluster(ctx context.Context) status.Cluster
	// controllers are those of this mode alone.
	controllers(op *coreoperator.Operator, drainer *drain.Drainer, provider *cloudprovider.CloudProvider, o options.Options) ([]operatorcontroller.Controller, error)
	// facts are what a user compares after an installation.
	facts() []fact
}

type engine interface {
	garbagecollection.Pools
	tagging.Pools
}

// A fact is a line in the log at start.
type fact struct {
	message string
	values  []any
}
