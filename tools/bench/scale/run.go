package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// Config of a run. Nodes and Rest must be positive.
type Config struct {
	Name    string // of the local clusters
	Nodes   int
	Profile string // of the simulated platform

	// Patience bounds the wait for all pods to run. Settle is how long a cluster
	// is left alone then, Rest how long the program is watched under each policy.
	Patience, Settle, Rest time.Duration

	// Profiles is a folder for pprof's profiles of both programs: the heap with all
	// pods running and at the end, the use of the processor after each window. Those
	// of the heap cost memory of their own. "" = none are kept.
	Profiles string

	// Only is "operator" or "reference" to measure one program, for its profiles: without the other there are no ratios.
	Only string

	Env      []string  // more variables for both programs, NAME=value
	StateDir string    // of the local clusters; "" = their default
	Progress io.Writer // a line for each step
}

const (
	operatorName, referenceName = "operator", "reference"

	stopPatience = time.Minute
)

// Run measures the operator and core with its own provider, one after the other.
func Run(ctx context.Context, cfg Config) (bench.Large, error) {
	if cfg.Nodes <= 0 || cfg.Rest <= 0 {
		return bench.Large{}, fmt.Errorf("bench-scale: %d nodes, %s of rest: both must be positive", cfg.Nodes, cfg.Rest)
	}
	if !slices.Contains([]string{"", operatorName, referenceName}, cfg.Only) {
		return bench.Large{}, fmt.Errorf("bench-scale: no program %q: use %s or %s", cfg.Only, operatorName, referenceName)
	}
	result := bench.Large{Rest: cfg.Rest}
	fmt.Fprintf(cfg.Progress, "for each program: until %d pods run, and then %s\n", cfg.Nodes*podsPerNode, cfg.watched())
	for _, kind := range []struct {
		name  string
		start func(context.Context, Config) (*localcluster.Cluster, program, error)
		used  *bench.Used
	}{{operatorName, startOperator, &result.Operator}, {referenceName, startReference, &result.Reference}} {
		if cfg.Only != "" && cfg.Only != kind.name {
			continue
		}
		cfg := cfg
		cfg.Name += "-" + kind.name
		if cfg.StateDir != "" {
			cfg.StateDir = filepath.Join(cfg.StateDir, kind.name)
		}
		fmt.Fprintf(cfg.Progress, "%s\n", kind.name)
		if err := runOne(ctx, cfg, kind.start, &result, kind.used); err != nil {
			return result, fmt.Errorf("bench-scale: %s: %w", kind.name, err)
		}
	}
	return result, nil
}

// watched is how long a program takes once all pods run.
func (c Config) watched() time.Duration {
	length := 2*(c.Settle+c.Rest) + min(c.Rest, profiled)
	if c.Profiles != "" {
		length += min(c.Rest, profiled)
	}
	return length.Round(time.Second)
}

// runOne measures one program on a cluster of its own.
func runOne(ctx context.Context, cfg Config, start func(context.Context, Config) (*localcluster.Cluster, program, error), result *bench.Large, used *bench.Used) error {
	cluster, p, err := start(ctx, cfg)
	if cluster != nil {
		defer func() {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
			defer cancel()
			if p.stop != nil {
				p.stop(stopping)
			}
			cluster.Stop(stopping)
		}()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Exited():
			cancel(errors.New("the program ended"))
		case err := <-cluster.Died():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := measure(ctx, cfg, cluster, p, result, used); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("%w; logs: %s", err, cluster.LogDir())
	}
	return nil
}

// measure does it all on a cluster that is up.
func measure(ctx context.Context, cfg Config, cluster *localcluster.Cluster, p program, result *bench.Large, used *bench.Used) error {
	config, err := cluster.RESTConfig()
	if err != nil {
		return err
	}
	kube, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	r := &run{Config: cfg, cluster: cluster, program: p, kube: kube, began: time.Now()}
	if err := r.apply(ctx); err != nil {
		return err
	}
	if err := r.untilAllRun(ctx); err != nil {
		return err
	}
	used.ScaleUp = time.Since(r.began)
	if p.ours {
		result.ScaleUpCalls = r.calls().all
	}
	if err := r.saveProfile(ctx, "heap", "heap-busy"); err != nil {
		return err
	}
	r.say("all run; leaving the cluster alone for %s", cfg.Settle)
	if err := pause(ctx, cfg.Settle); err != nil {
		return err
	}
	if used.Underutilized, err = r.rest(ctx, result, used); err != nil {
		return err
	}
	if p.ours {
		result.Calls = r.restCalls
	}
	if p.ours || cfg.Profiles != "" {
		own, err := r.own(ctx, "cpu-underutilized")
		if err != nil {
			return err
		}
		if p.ours {
			result.Own = own
		}
	}
	if err := r.planNothing(ctx); err != nil {
		return err
	}
	if used.Empty, err = r.rest(ctx, result, used); err != nil {
		return err
	}
	if cfg.Profiles != "" {
		if _, err := r.own(ctx, "cpu-empty"); err != nil {
			return err
		}
	}
	result.Throttled += r.calls().throttled
	return r.saveProfile(ctx, "heap", "heap-rest")
}

// run is one run.
type run struct {
	Config
	cluster   *localcluster.Cluster
	program   program
	kube      client.Client
	began     time.Time
	restCalls int // to the Linode API in the latest rest
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Progress, "%7s  %s\n", time.Since(r.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// errNoRest is the cause when the cluster changed while it was to be at rest.
var errNoRest = errors.New("this was no rest")

// rest watches the program for the length of Rest. A window in which a node or a pod came or went, as it does when the
// machine is too busy for all kubelets' heartbeats, is thrown away and taken again.
func (r *run) rest(ctx context.Context, result *bench.Large, used *bench.Used) (bench.Window, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		window, err := r.window(ctx, result, used)
		if !errors.Is(err, errNoRest) || attempt == attempts {
			return window, err
		}
		r.say("%s; watching again", err)
		if err := r.untilAllRun(ctx); err != nil {
			return window, err
		}
	}
}

func (r *run) window(ctx context.Context, result *bench.Large, used *bench.Used) (bench.Window, error) {
	before, err := usageOf(r.program.PID())
	if err != nil {
		return bench.Window{}, err
	}
	seen, err := r.observe(ctx)
	if err != nil {
		return bench.Window{}, err
	}
	calls := r.calls()
	r.say("peak so far: %d MB; watching for %s", before.peakRSS>>20, r.Rest)
	memory, after, err := r.watchRest(ctx, before)
	if err != nil {
		return bench.Window{}, err
	}
	r.restCalls = r.calls().all - calls.all
	left, err := r.observe(ctx)
	if err != nil {
		return bench.Window{}, err
	}
	if left != seen {
		return bench.Window{}, fmt.Errorf("%w: at its start there was %s, at its end %s", errNoRest, seen, left)
	}
	if result.Nodes != 0 && (result.Nodes != left.nodes || result.Pods != left.running) {
		return bench.Window{}, fmt.Errorf("not the same load: %d nodes with %d pods, and %d with %d before", left.nodes, left.running, result.Nodes, result.Pods)
	}
	result.Nodes, result.Pods, used.PeakRSS = left.nodes, left.running, after.peakRSS
	return bench.Window{Memory: memory, CPU: after.cpu - before.cpu}, nil
}

// watchRest waits, and reports every minute what the program has used meanwhile. memory is the mean of what it had.
func (r *run) watchRest(ctx context.Context, before usage) (memory int, last usage, err error) {
	sum, samples, minute := 0, 0, before
	machine, err := machineIdle()
	if err != nil {
		return 0, before, err
	}
	for waited, reported := time.Duration(0), time.Duration(0); waited < r.Rest; samples++ {
		step := min(r.Rest-waited, poll)
		if err := pause(ctx, step); err != nil {
			return 0, last, err
		}
		if last, err = usageOf(r.program.PID()); err != nil {
			return 0, last, err
		}
		waited += step
		sum += last.rss
		if waited-reported >= time.Minute || waited == r.Rest {
			now, err := machineIdle()
			if err != nil {
				return 0, last, err
			}
			r.say("at rest: %.1f%% of a core, %d MB; the machine was idle for %.0f%%", 100*(last.cpu-minute.cpu).Seconds()/(waited-reported).Seconds(), last.rss>>20, 100*now.since(machine))
			minute, reported, machine = last, waited, now
		}
	}
	return sum / max(samples, 1), last, nil
}

// profiled is how long the use of the processor is profiled, at most; once in every ten
// seconds of it core looks at all nodes.
const profiled = time.Minute

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
	content, err := download(ctx, r.program.profile(what))
	if err != nil || r.Profiles == "" {
		return content, err
	}
	folder := filepath.Join(r.Profiles, filepath.Base(r.Name))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return content, os.WriteFile(filepath.Join(folder, name+".pprof"), content, 0o644)
}

// pause waits; the error is ctx's when it ended first.
func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(length):
		return nil
	}
}
