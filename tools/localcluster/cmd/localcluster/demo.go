package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/demo"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// demoVerb starts a separate cluster, shows the main job on it, and stops the cluster,
// also after an error. A cluster that `up` has started may run at the same time.
func demoVerb() *cobra.Command {
	start := time.Now()
	return startVerb("demo", "Watch pods get Linode nodes and the nodes go away again",
		func(verb *cobra.Command, opts localcluster.Options, _ chosen) error {
			return runDemo(verb.Context(), opts, start)
		})
}

func runDemo(ctx context.Context, opts localcluster.Options, start time.Time) error {
	if opts.Name == defaultName {
		opts.Name = "demo"
		opts.StateDir = localcluster.DefaultStateDir(opts.Root, opts.Name)
	}
	opts.Progress = os.Stderr
	if opts.Mode != localcluster.LKE {
		opts.Kubelets = 1
	}
	if opts.Mode == localcluster.Instance {
		opts.Kubelets = 2 // on the Deployment's nodes, one of which package demo reboots; kwok simulates the node with the volume
	}
	opts.WithoutCSI = opts.Mode != localcluster.Instance // no other demo has volumes, and the programs take two minutes to build
	cluster, err := localcluster.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer cluster.Stop(context.WithoutCancel(ctx))
	kube, err := cluster.Client()
	if err != nil {
		return err
	}
	fmt.Printf("the simulated Linode account: %s    logs: %s\n", cluster.SimURL, cluster.LogDir())
	cfg := demo.Config{
		Of: "tier=" + opts.Tier, Class: "linodenodeclass.yaml", NodePool: "nodepool.yaml",
		Examples: filepath.Join(opts.Root, "docs", "examples"), Client: kube, Sim: cluster.Sim, Token: cluster.SimToken, Out: os.Stdout,
		Start: start,
	}
	if opts.Mode == localcluster.Instance {
		cfg.Of, cfg.Class = "mode="+opts.Mode+" tier=none", "linodenodeclass-kubeadm.yaml"
		cfg.Linode = linodehttp.New(cluster.SimURL, cluster.OwnerToken, "localcluster demo")
	}
	if opts.Mode == localcluster.ClusterAPI {
		cfg.Of, cfg.NodePool, cfg.Machines = "mode="+opts.Mode, "nodepool-clusterapi.yaml", true
	}
	if _, err = demo.Run(ctx, cfg); err != nil {
		return fmt.Errorf("demo: %w; logs: %s", err, cluster.LogDir())
	}
	return nil
}
