package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// Config of a run. Nodes and Rest must be positive.
type Config struct {
	Name    string // of the local cluster
	Nodes   int
	Profile string // of the simulated platform

	// Patience bounds the wait for all pods to run. Settle is how long the cluster
	// is left alone then, Rest how long the operator is watched afterwards.
	Patience, Settle, Rest time.Duration

	// Profiles is a folder for pprof's profiles of the operator: its heap with all
	// pods running and at the end, its use of the processor after the rest under
	// each policy. Those of the heap cost memory of their own. "" = none are kept.
	Profiles string

	StateDir string    // of the local cluster; "" = its default
	Progress io.Writer // a line for each step
}

const stopPatience = time.Minute

// Run measures.
func Run(ctx context.Context, cfg Config) (bench.Large, error) {
	if cfg.Nodes <= 0 || cfg.Rest <= 0 {
		return bench.Large{}, fmt.Errorf("bench-scale: %d nodes, %s of rest: both must be positive", cfg.Nodes, cfg.Rest)
	}
	options := localcluster.Options{
		Name: cfg.Name, StateDir: cfg.StateDir, Tier: localcluster.Enterprise, Profile: cfg.Profile, Progress: cfg.Progress, Unchecked: true, WithoutAddons: true,
		Env: []string{"ENABLE_PROFILING=true"}, // costs nothing until somebody asks for a profile
	}
	cluster, err := localcluster.Start(ctx, options)
	if err != nil {
		return bench.Large{}, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		cluster.Stop(stopping)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-cluster.Operator.Exited():
			cancel(errors.New("the operator ended"))
		case err := <-cluster.Died():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	result, err := measure(ctx, cfg, cluster)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return result, fmt.Errorf("bench-scale: %w; logs: %s", err, cluster.LogDir())
	}
	return result, nil
}

// measure does it all on a cluster that is up.
func measure(ctx context.Context, cfg Config, cluster *localcluster.Cluster) (bench.Large, error) {
	config, err := cluster.RESTConfig()
	if err != nil {
		return bench.Large{}, err
	}
	kube, err := client.New(config, client.Options{})
	if err != nil {
		return bench.Large{}, err
	}
	r := &run{Config: cfg, cluster: cluster, kube: kube, began: time.Now()}
	if err := r.apply(ctx); err != nil {
		return bench.Large{}, err
	}
	if err := r.untilAllRun(ctx); err != nil {
		return bench.Large{}, err
	}
	took, calls := time.Since(r.began), r.calls()
	if err := r.saveProfile(ctx, "heap", "heap-busy"); err != nil {
		return bench.Large{}, err
	}
	r.say("all run; leaving the cluster alone for %s", cfg.Settle)
	if err := pause(ctx, cfg.Settle); err != nil {
		return bench.Large{}, err
	}
	result, err := r.rest(ctx)
	if err != nil {
		return bench.Large{}, err
	}
	result.ScaleUp, result.ScaleUpCalls = took, calls.all
	if result.Own, err = r.own(ctx, "cpu-rest"); err != nil {
		return bench.Large{}, err
	}
	if err := r.planNothing(ctx); err != nil {
		return bench.Large{}, err
	}
	quiet, err := r.rest(ctx)
	if err != nil {
		return bench.Large{}, err
	}
	result.PeakRSS, result.CPUWhenEmpty = quiet.PeakRSS, quiet.CPU
	result.Throttled = r.calls().throttled
	if err := r.saveProfile(ctx, fmt.Sprintf("profile?seconds=%d", int(profiled.Seconds())), "cpu-rest-when-empty"); err != nil {
		return bench.Large{}, err
	}
	return result, r.saveProfile(ctx, "heap", "heap-rest")
}

// run is one run.
type run struct {
	Config
	cluster *localcluster.Cluster
	kube    client.Client
	began   time.Time
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Progress, "%7s  %s\n", time.Since(r.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// rest watches the operator for the length of Rest.
func (r *run) rest(ctx context.Context) (bench.Large, error) {
	pid := r.cluster.Operator.PID()
	before, err := usageOf("/proc", pid)
	if err != nil {
		return bench.Large{}, err
	}
	seen, err := r.observe(ctx)
	if err != nil {
		return bench.Large{}, err
	}
	calls, start := r.calls(), time.Now()
	r.say("peak so far: %d MB; watching for %s", before.peakRSS>>20, r.Rest)
	if err := r.watchRest(ctx, pid, before); err != nil {
		return bench.Large{}, err
	}
	after, err := usageOf("/proc", pid)
	if err != nil {
		return bench.Large{}, err
	}
	elapsed, now := time.Since(start), r.calls()
	left, err := r.observe(ctx)
	if err != nil {
		return bench.Large{}, err
	}
	if left != seen {
		return bench.Large{}, fmt.Errorf("this was no rest: at its start there was %s, at its end %s", seen, left)
	}
	return bench.Large{
		Nodes: left.nodes, Pods: left.running, PeakRSS: after.peakRSS, Rest: elapsed,
		CPU: after.cpu - before.cpu, Calls: now.all - calls.all,
	}, nil
}

// watchRest waits, and says every minute what the operator has used meanwhile.
func (r *run) watchRest(ctx context.Context, pid int, last usage) error {
	calls := r.calls()
	for left := r.Rest; left > 0; left -= time.Minute {
		step := min(left, time.Minute)
		if err := pause(ctx, step); err != nil {
			return err
		}
		now, err := usageOf("/proc", pid)
		if err != nil {
			return err
		}
		counted := r.calls()
		r.say("at rest: %.1f%% of a core, %d requests in %s", 100*(now.cpu-last.cpu).Seconds()/step.Seconds(), counted.all-calls.all, step)
		last, calls = now, counted
	}
	return nil
}

// profiled is how long the use of the processor is profiled, at most; once in every ten
// seconds of it core looks at all nodes.
const profiled = 2 * time.Minute

// own is the part of a core that this repository's code used in a window after the rest.
func (r *run) own(ctx context.Context, name string) (float64, error) {
	window := min(r.Rest, profiled).Round(time.Second)
	r.say("looking for %s whose the processor time is", window)
	cpu, err := r.profile(ctx, fmt.Sprintf("profile?seconds=%d", int(window.Seconds())), name)
	if err != nil {
		return 0, err
	}
	used, err := own(bytes.NewReader(cpu))
	return used.Seconds() / window.Seconds(), err
}

// planNothing leaves core nothing to plan: only empty nodes may go from now on.
func (r *run) planNothing(ctx context.Context) error {
	pool := &karpv1.NodePool{}
	if err := r.kube.Get(ctx, client.ObjectKey{Name: "load"}, pool); err != nil {
		return err
	}
	pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
	if err := r.kube.Update(ctx, pool); err != nil {
		return fmt.Errorf("the NodePool's policy: %w", err)
	}
	r.say("only empty nodes may go from now on; leaving the cluster alone for %s", r.Settle)
	return pause(ctx, r.Settle)
}

// counts of requests to the Linode API so far.
type counts struct{ all, throttled int }

func (r *run) calls() counts {
	var c counts
	for _, call := range r.cluster.Sim.Calls() {
		c.all += call.N
		if call.Status == 429 {
			c.throttled += call.N
		}
	}
	return c
}

func (r *run) saveProfile(ctx context.Context, what, name string) error {
	if r.Profiles == "" {
		return nil
	}
	_, err := r.profile(ctx, what, name)
	return err
}

// profile is one of pprof's, kept if that is wanted.
func (r *run) profile(ctx context.Context, what, name string) ([]byte, error) {
	content, err := download(ctx, r.cluster.Operator.ProfileURL(what))
	if err != nil || r.Profiles == "" {
		return content, err
	}
	if err := os.MkdirAll(r.Profiles, 0o755); err != nil {
		return nil, err
	}
	return content, os.WriteFile(filepath.Join(r.Profiles, name+".pprof"), content, 0o644)
}

// pause waits; the error is ctx's when it ended first.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
