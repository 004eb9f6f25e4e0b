package main

import (
	"context"

	operatorcontroller "github.com/awslabs/operatorpkg/controller"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/tagging"
)

// nodes is where nodes come from, in one of the modes.
type nodes struct {
	provider    *cloudprovider.CloudProvider
	engine      engine                               // what the controllers of both modes collect and tag with
	begin       func()                               // forgets what was seen, because this replica leads from now on
	cluster     func(context.Context) status.Cluster // what LinodeNodeClasses are judged by
	controllers []operatorcontroller.Controller      // of this mode alone
}

type engine interface {
	garbagecollection.Pools
	tagging.Pools
}
