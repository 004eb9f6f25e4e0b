package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/podusage"
)

const (
	useMetrics = "metrics"
	useVPA     = "vpa"

	// readingsApart is the default interval at which metrics-server measures.
	readingsApart = 15 * time.Second
)

// use has the flags that choose where the resource use of pods is read, and for how long.
type use struct {
	from  string
	time  time.Duration
	apart time.Duration
}

func (u *use) flags(cmd *cobra.Command) {
	u.apart = readingsApart
	cmd.Flags().StringVar(&u.from, "use", "", "what shows how much pods use: "+useMetrics+" (PodMetrics of metrics-server) or "+useVPA+
		" (targets of VerticalPodAutoscalers)")
	_ = cmd.RegisterFlagCompletionFunc("use", cobra.FixedCompletions([]string{useMetrics, useVPA}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().DurationVar(&u.time, "use-for", 0, "with --use "+useMetrics+": how long to go on reading metrics-server, which knows "+
		"the last seconds only")
}

func (u *use) check(from *source) error {
	switch {
	case u.from != "" && u.from != useMetrics && u.from != useVPA:
		return fmt.Errorf("--use: %q is not one of %s, %s", u.from, useMetrics, useVPA)
	case u.time != 0 && u.from != useMetrics:
		return errors.New("--use-for: only --use " + useMetrics + " reads more than once")
	case u.time != 0 && len(from.from) > 0:
		return errors.New("--use-for: with --from there are no new readings; give several files to --from")
	case u.time < 0:
		return fmt.Errorf("--use-for: %v is less than 0", u.time)
	}
	return nil
}

// read adds objects that show use to the snapshot of a cluster. A snapshot from files is left as it is.
func (u *use) read(ctx context.Context, from *source, cluster *snapshot.Snapshot) error {
	if u.from == "" {
		return nil
	}
	if len(from.from) == 0 {
		if err := u.readCluster(ctx, from, cluster); err != nil {
			return fmt.Errorf("--use %s: %w", u.from, err)
		}
	}
	switch {
	case u.from == useMetrics && len(cluster.PodMetrics) == 0:
		return errors.New("--use metrics: there are no PodMetrics: metrics-server measures a pod once it has run for a while; for files: " +
			snapshot.CommandPodMetrics)
	case u.from == useVPA && len(cluster.Autoscalers) == 0:
		return errors.New("--use vpa: there is no VerticalPodAutoscaler; for files: " + snapshot.CommandAutoscalers)
	}
	return nil
}

func (u *use) readCluster(ctx context.Context, from *source, cluster *snapshot.Snapshot) error {
	kube, err := from.client()
	if err != nil {
		return err
	}
	if u.from == useVPA {
		return cluster.AddAutoscalers(ctx, kube)
	}
	return u.repeat(ctx, func() error { return cluster.AddPodMetrics(ctx, kube) })
}

// repeat makes the first reading at once, and a reading each u.apart until u.time is over. Example: with --use-for 1m there are readings at
// 0, 15, 30 and 45 s.
func (u *use) repeat(ctx context.Context, reading func() error) error {
	next := time.NewTicker(u.apart)
	defer next.Stop()
	for end := time.Now().Add(u.time); ; {
		if err := reading(); err != nil || time.Now().Add(u.apart).After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
	}
}

// basis has the flags that choose which amount of use counts as a pod's request.
type basis struct {
	percentile, headroom float64
	percentileSet, set   func() bool
}

func (b *basis) flags(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&b.percentile, "use-percentile", 95, "with --use "+useMetrics+": the percentile of a workload's readings that "+
		"counts, per container")
	cmd.Flags().Float64Var(&b.headroom, "use-headroom", 0.15, "share that is added to the use; with --use "+useVPA+" 0 unless it is "+
		"given, because the recommender has added its own")
	b.percentileSet = func() bool { return cmd.Flags().Changed("use-percentile") }
	b.set = func() bool { return cmd.Flags().Changed("use-headroom") }
}

func (b *basis) check(from string) error {
	switch {
	case from == "" && (b.percentileSet() || b.set()):
		return errors.New("--use-percentile, --use-headroom: without --use nothing shows what pods use")
	case from == useVPA && b.percentileSet():
		return errors.New("--use-percentile: a VerticalPodAutoscaler has one target; its recommender's --target-cpu-percentile and " +
			"--target-memory-percentile choose it")
	case !(b.percentile > 0 && b.percentile <= 100):
		return fmt.Errorf("--use-percentile: %v is not above 0 and at most 100", b.percentile)
	case !(b.headroom >= 0 && b.headroom <= 10):
		return fmt.Errorf("--use-headroom: %v is not a share between 0 and 10, such as 0.15", b.headroom)
	}
	return nil
}

// of returns the requests that pods would have if each requested what it uses. It returns nil without --use. It expects a snapshot that
// use.read has filled.
func (b *basis) of(from string, cluster *snapshot.Snapshot) *whatif.Basis {
	headroom := b.headroom
	switch from {
	case useMetrics:
		first, last := cluster.PodMetrics[0].Timestamp, cluster.PodMetrics[0].Timestamp
		for _, reading := range cluster.PodMetrics {
			if reading.Timestamp.Before(&first) {
				first = reading.Timestamp
			}
			if last.Before(&reading.Timestamp) {
				last = reading.Timestamp
			}
		}
		text := fmt.Sprintf("percentile %v of what metrics-server measured from %s to %s UTC, plus %v%%", b.percentile,
			first.UTC().Format(time.DateTime), last.UTC().Format(time.DateTime), headroom*100)
		return &whatif.Basis{Requests: podusage.Measured(cluster.Pods, cluster.PodMetrics, b.percentile, headroom), Text: text}
	case useVPA:
		if !b.set() {
			headroom = 0
		}
		return &whatif.Basis{Requests: podusage.Recommended(cluster.Autoscalers, headroom),
			Text: fmt.Sprintf("the targets of VerticalPodAutoscalers, plus %v%%", headroom*100)}
	}
	return nil
}
