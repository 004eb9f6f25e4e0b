package scale

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// Config of a run. Nodes and Rest must be positive.
type Config struct {
	Name    string // of the local cluster
	Nodes   int
	Profile string // of the simulated platform

	// Patience bounds the wait for all pods to run. Settle is how long the cluster
	// is left alone before each window. Rest is the length of each window, in which
	// the operator is watched.
	Patience, Settle, Rest time.Duration

	// Profiles is a folder for pprof's profiles: the heap once all pods run and at
	// the end, and the processor time after the first window. A heap profile itself
	// takes memory of the operator. "" = no profile is kept.
	Profiles string

	Env      []string  // more variables for the operator, NAME=value
	StateDir string    // of the local cluster; "" = its default
	Progress io.Writer // a line for each step
}

const stopPatience = time.Minute

// settings are the chart's defaults, but without leader election: on a busy machine the operator may lose its Lease, and that would end the
// run.
var settings = []string{"CPU_REQUESTS=200", "MEMORY_LIMIT=1073741824", "LOG_LEVEL=info", "ENABLE_PROFILING=true",
	"DISABLE_LEADER_ELECTION=true"}

//go:embed pool.yaml
var pool []byte

// Run measures the operator on a cluster of its own.
func Run(ctx context.Context, cfg Config) (bench.Large, error) {
	if cfg.Nodes <= 0 || cfg.Rest <= 0 {
		return bench.Large{}, fmt.Errorf("bench-scale: %d nodes, %s of rest: both must be positive", cfg.Nodes, cfg.Rest)
	}
	r := &run{Config: cfg, result: bench.Large{Rest: cfg.Rest}, began: time.Now()}
	if err := r.all(ctx); err != nil {
		return r.result, fmt.Errorf("bench-scale: %w", err)
	}
	return r.result, nil
}

// run is one measurement of the operator on its cluster.
type run struct {
	Config
	result  bench.Large
	cluster *localcluster.Cluster
	kube    client.Client
	began   time.Time
	seen    observed // at the start of the latest window
}

func (r *run) all(ctx context.Context) error {
	r.say("until %d pods run, and then %s", r.Nodes*podsPerNode, r.watched())
	cluster, err := localcluster.Start(ctx, localcluster.Options{
		Name: r.Name, StateDir: r.StateDir, Tier: localcluster.Enterprise, Profile: r.Profile, Progress: r.Progress,
		Unchecked: true, WithoutAddons: true, NodeSilence: 10 * time.Minute, Env: append(settings, r.Env...),
	})
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		cluster.Stop(stopping)
	}()
	r.cluster = cluster
	if r.kube, err = cluster.Client(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go r.watch(ctx, cancel)
	err = r.measure(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("%w; logs: %s", err, cluster.LogDir())
	}
	return nil
}

// watched is the time from the moment when all pods run until the end of the run.
func (c Config) watched() time.Duration {
	return (2*(c.Settle+c.Rest) + min(c.Rest, profiled)).Round(time.Second)
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Progress, "%7s  %s\n", time.Since(r.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// watch cancels when the operator or a program of its cluster ends by itself.
func (r *run) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-r.cluster.Operator.Exited():
		cancel(fmt.Errorf("the operator ended; logs: %s", r.cluster.LogDir()))
	case err := <-r.cluster.Died():
		cancel(fmt.Errorf("%w; logs: %s", err, r.cluster.LogDir()))
	case <-ctx.Done():
	}
}

// measure takes all measurements on a running cluster.
func (r *run) measure(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	r.result.ScaleUpCalls = r.calls().all
	if err := r.settle(ctx, "all run"); err != nil {
		return err
	}
	before := r.calls().all
	var err error
	if r.result.Underutilized, err = r.rest(ctx); err != nil {
		return err
	}
	r.result.Calls = r.calls().all - before
	if err := r.profileAtRest(ctx); err != nil {
		return err
	}
	if err := r.planNothing(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx, "only empty nodes may go from now on"); err != nil {
		return err
	}
	if r.result.Empty, err = r.rest(ctx); err != nil {
		return err
	}
	r.result.Throttled = r.calls().throttled
	return r.saveProfile(ctx, "heap", "heap-rest")
}

func (r *run) settle(ctx context.Context, what string) error {
	r.say("%s; leaving the cluster alone for %s", what, r.Settle)
	return pause(ctx, r.Settle)
}

// errNoRest is the cause if a cluster changed during a window in which it should be at rest.
var errNoRest = errors.New("the cluster changed during the window at rest")

// rest measures a window of the length Rest. If a node or a pod came or went in the window, rest measures another window. A node goes, for
// example, when the machine is too busy for the heartbeats of all kubelets.
func (r *run) rest(ctx context.Context) (bench.Window, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		window, err := r.window(ctx)
		if err == nil {
			r.result.Nodes, r.result.Pods = r.seen.nodes, r.seen.running
			return window, nil
		}
		if !errors.Is(err, errNoRest) || attempt == attempts {
			return window, err
		}
		r.say("%s; watching again", err)
		if err := r.untilAllRun(ctx); err != nil {
			return window, err
		}
	}
}

// pause waits. If ctx ends first, the error is the cause of ctx's end.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}
