package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// clusterFlags are the flags of a verb that starts a cluster; `make up TIER=enterprise PROFILE=realistic` sets their defaults
// through the environment.
type clusterFlags struct {
	opts  localcluster.Options
	given chosen
	pools string
}

// startVerb is a verb that starts a cluster.
func startVerb(use, short string, run func(*cobra.Command, localcluster.Options, chosen) error) *cobra.Command {
	var f clusterFlags
	verb := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(verb *cobra.Command, _ []string) error {
		if err := f.complete(); err != nil {
			return err
		}
		return run(verb, f.opts, f.given)
	}}
	f.register(verb)
	return verb
}

func (f *clusterFlags) register(verb *cobra.Command) {
	flags, opts := verb.Flags(), &f.opts
	nameFlag(verb, &opts.Name)
	flags.StringVar(&opts.Mode, "mode", cmp.Or(os.Getenv("MODE"), localcluster.LKE),
		"where nodes come from: lke; instance: plain Linodes that join a self-managed cluster; clusterapi: Machines of Cluster API")
	flags.StringVar(&opts.Tier, "tier", cmp.Or(os.Getenv("TIER"), localcluster.Standard), "LKE tier: standard or enterprise")
	flags.StringVar(&opts.Profile, "profile", cmp.Or(os.Getenv("PROFILE"), "fast"),
		"how the simulated platform behaves: fast, realistic, slow, stale, hostile, or a report of verify")
	flags.StringVar(&f.given.file, "values", "", "file with values of the chart karpenter")
	flags.StringVar(&f.given.gates, "gates", "", "feature gates of the operator, as CapacityBuffer=true,NodeRepair=true")
	flags.StringVar(&f.pools, "pools", "", "more LKE pools for the user: plan:nodes or, for LKE's autoscaler, plan:nodes:least-most")
	flags.IntVar(&opts.Port, "port", 0, "port of the Kubernetes API server; 0 = a free one")
	for flag, values := range map[string][]string{
		"mode": {localcluster.LKE, localcluster.Instance, localcluster.ClusterAPI},
		"tier": {localcluster.Standard, localcluster.Enterprise}, "profile": {"fast", "realistic", "slow", "stale", "hostile"},
	} {
		_ = verb.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
}

// complete sets the folders that follow from the cluster's name, and reads the chart's values.
func (f *clusterFlags) complete() error {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return err
	}
	// make passes on the variables of its environment, and their values may be empty.
	f.opts.Tier, f.opts.Profile = cmp.Or(f.opts.Tier, localcluster.Standard), cmp.Or(f.opts.Profile, "fast")
	f.opts.Kubernetes = controlplane.Release()
	if f.opts.Pools, err = localcluster.ParsePools(f.pools); err != nil {
		return err
	}
	f.opts.Root, f.opts.StateDir = root, localcluster.DefaultStateDir(root, f.opts.Name)
	return f.given.apply(&f.opts)
}

func nameFlag(verb *cobra.Command, name *string) {
	verb.Flags().StringVar(name, "name", cmp.Or(os.Getenv("CLUSTER"), defaultName), "name of the cluster; several run side by side")
}

// runningVerb is a verb for a cluster that `up` started. run gets the cluster's name and folder.
func runningVerb(use, short string, run func(verb *cobra.Command, name, stateDir string) error) *cobra.Command {
	var name string
	verb := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(verb *cobra.Command, _ []string) error {
		dir, err := stateDir(name)
		if err != nil {
			return err
		}
		return run(verb, name, dir)
	}}
	nameFlag(verb, &name)
	return verb
}

func stateDir(name string) (string, error) {
	root, err := controlplane.FindRoot(".")
	return localcluster.DefaultStateDir(root, name), err
}

// arguments returns the flags that the user gave to a verb, for another verb with the same flags.
func arguments(verb *cobra.Command) (args []string) {
	verb.Flags().Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	return args
}
