// Command bench-scale measures the operator on a large local cluster, writes the
// figures into a document and fails if a target is missed. Its last line on standard
// output is the result:
//
//	bench-scale: nodes=500 pods=5000 memory_mb_per_node=... own_cpu_percent=... idle_calls_per_minute=...
//
// `make bench-scale` runs it; package scale explains the figures. Ctrl-C stops the
// measurement and the cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
	"github.com/karpenter-linode/karpenter-linode/tools/bench/scale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-scale:", strings.TrimPrefix(err.Error(), "bench-scale: "))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	cfg := scale.Config{Progress: os.Stderr}
	flags := flag.NewFlagSet("bench-scale", flag.ContinueOnError)
	flags.StringVar(&cfg.Name, "name", "bench-scale", "name of the local cluster")
	flags.IntVar(&cfg.Nodes, "nodes", 500, "how many nodes; each has ten pods")
	flags.StringVar(&cfg.Profile, "profile", "realistic", "how the simulated platform behaves: fast, realistic, slow, stale or hostile")
	flags.DurationVar(&cfg.Patience, "patience", time.Hour, "how long all pods may take to run")
	flags.DurationVar(&cfg.Settle, "settle", 2*time.Minute, "how long a cluster is left alone before the rest is measured")
	flags.DurationVar(&cfg.Rest, "rest", 5*time.Minute, "how long the operator is watched at rest under each policy")
	flags.StringVar(&cfg.Profiles, "profiles", "",
		"folder for pprof's profiles; taking them costs memory and time of its own")
	flags.Func("env", "a variable for the operator, NAME=value; may be repeated", func(v string) error {
		cfg.Env = append(cfg.Env, v)
		return nil
	})
	write := flags.String("write", "", "document whose section is to be written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	large, err := scale.Run(ctx, cfg)
	if err != nil {
		return err
	}
	result := large.Result()
	if *write != "" {
		if err := writeSection(*write,
			bench.LargeReport{Machine: bench.ThisMachine(), Profile: cfg.Profile, Settle: cfg.Settle, Large: large}); err != nil {
			return err
		}
	}
	missed := bench.Missed(bench.LargeTargets, []bench.Result{result})
	for _, line := range missed {
		fmt.Println(line)
	}
	fmt.Fprintln(os.Stderr, large.Table())
	fmt.Println(result.Line())
	if len(missed) > 0 {
		return fmt.Errorf("%d targets were missed", len(missed))
	}
	return nil
}

func writeSection(file string, report bench.LargeReport) error {
	section, err := report.Markdown()
	if err != nil {
		return err
	}
	return bench.ScaleSection.Write(file, section)
}
