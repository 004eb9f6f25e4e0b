package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// options reads a verb's flags; `make up TIER=enterprise PROFILE=realistic` sets
// their defaults through the environment.
func options(verb string, args []string) (localcluster.Options, chosen, error) {
	var opts localcluster.Options
	var given chosen
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.StringVar(&opts.Name, "name", cmp.Or(os.Getenv("NAME"), "dev"), "name of the cluster; several run side by side")
	flags.StringVar(&opts.Tier, "tier", cmp.Or(os.Getenv("TIER"), localcluster.Standard), "LKE tier: standard or enterprise")
	flags.StringVar(&opts.Profile, "profile", cmp.Or(os.Getenv("PROFILE"), "fast"), "how the simulated platform behaves: fast, realistic, slow, stale, hostile, or a report of lkeprobe")
	flags.StringVar(&given.file, "values", "", "file with values of the chart karpenter")
	flags.StringVar(&given.gates, "gates", "", "feature gates of the operator, as CapacityBuffer=true,NodeRepair=true")
	flags.Float64Var(&opts.TimeScale, "time-scale", 1, "divides the profile's delays")
	flags.IntVar(&opts.Port, "port", 0, "port of the Kubernetes API server; 0 = a free one")
	flags.BoolVar(&opts.WithoutCharts, "without-charts", false, "install nothing, run no operator")
	flags.BoolVar(&opts.NoOperator, "no-operator", false, "install the charts, run no operator")
	flags.BoolVar(&opts.Audit, "audit", false, "log every request to the API server to logs/audit.log")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	} else if err != nil {
		return opts, given, err
	}
	if flags.NArg() > 0 {
		return opts, given, fmt.Errorf("%s takes no argument %q", verb, flags.Arg(0))
	}
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return opts, given, err
	}
	opts.Root, opts.StateDir = root, localcluster.DefaultStateDir(root, opts.Name)
	return opts, given, given.apply(&opts)
}

// arguments are the flags that lead to the same options again.
func arguments(opts localcluster.Options, given chosen) []string {
	return []string{
		"-values=" + given.file, "-gates=" + given.gates,
		"-name=" + opts.Name, "-tier=" + opts.Tier, "-profile=" + opts.Profile,
		"-time-scale=" + strconv.FormatFloat(opts.TimeScale, 'g', -1, 64), "-port=" + strconv.Itoa(opts.Port),
		fmt.Sprintf("-without-charts=%t", opts.WithoutCharts), fmt.Sprintf("-no-operator=%t", opts.NoOperator),
		fmt.Sprintf("-audit=%t", opts.Audit),
	}
}
