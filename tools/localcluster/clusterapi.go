package localcluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/management"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedcapl"
)

// FleetPlans have a MachineDeployment each in clusterapi mode, from the start.
var FleetPlans = []string{"g6-standard-2", "g6-standard-4", "g2-gpu-rtx4000a1-s"}

// controllersEnd is how long Cluster API's controllers may take to end.
const controllersEnd = 3 * time.Second

// clusterAPI is what a Cluster has in clusterapi mode alone.
type clusterAPI struct{ *Cluster }

// start starts Cluster API's controllers and the simulated infrastructure provider.
func (c clusterAPI) start(ctx context.Context) error {
	config, err := c.plane.RESTConfig("cluster-api")
	if err != nil {
		return err
	}
	controllers, err := management.Start(ctx, management.Config{
		Program: filepath.Join(c.opts.bin(), controlplane.ClusterAPI), Manifests: controlplane.ClusterAPIManifests(c.opts.bin()),
		Kubeconfig: c.Kubeconfig, Dir: filepath.Join(c.opts.stateDir(), "clusterapi"), LogDir: c.opts.logDir(), Kube: config,
		Authority: c.plane.Authority(), Provider: simulatedcapl.Definitions,
	})
	if controllers != nil {
		c.controllers = controllers
		c.onStop(func(ctx context.Context) { controllers.Stop(ctx, controllersEnd) })
	}
	if err != nil {
		return fmt.Errorf("cluster API: %w", err)
	}
	provider, err := c.plane.RESTConfig("capl")
	if err != nil {
		return err
	}
	cfg := simulatedcapl.Config{Kube: provider, APIURL: c.SimURL, Token: c.managerToken, Log: c.log}
	if c.opts.Profile == quickProfile {
		cfg.StepDelay = quickCache
	}
	c.background(ctx, func(ctx context.Context) {
		if err := simulatedcapl.Run(ctx, cfg); err != nil {
			c.log.Error("CAPL is not simulated any more", "error", err)
		}
	})
	return nil
}

// makeFleet describes the local cluster to Cluster API.
func (c clusterAPI) makeFleet(ctx context.Context) error {
	config, err := c.plane.RESTConfig("cluster-api")
	if err != nil {
		return err
	}
	fleet := management.Fleet{
		Name: c.Name, Port: c.plane.Port(), Region: region, Version: controlplane.KubernetesVersion, OwnType: ownPlan, Plans: FleetPlans,
		Authority: c.plane.Authority().Pair,
	}
	for _, linode := range c.Sim.Snapshot().Instances {
		if strings.HasPrefix(linode.Label, ownNodes(c.Name)) {
			fleet.Own, fleet.OwnID = linode.Label, linode.ID
			break
		}
	}
	return fleet.Apply(ctx, config)
}
