package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// Config of a run. Nodes and Rest must be positive.
type Config struct {
	Name    string // of the local clusters
	Nodes   int
	Profile string // of the simulated platform

	// Patience bounds the wait for all pods to run. Settle is how long the clusters
	// are left alone then, Rest how long the programs are watched under each policy.
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

// Run measures the operator and core with its own provider at the same time, each on a cluster of its own: whatever else the
// machine does, it does to both.
func Run(ctx context.Context, cfg Config) (bench.Large, error) {
	if cfg.Nodes <= 0 || cfg.Rest <= 0 {
		return bench.Large{}, fmt.Errorf("bench-scale: %d nodes, %s of rest: both must be positive", cfg.Nodes, cfg.Rest)
	}
	if !slices.Contains([]string{"", operatorName, referenceName}, cfg.Only) {
		return bench.Large{}, fmt.Errorf("bench-scale: no program %q: use %s or %s", cfg.Only, operatorName, referenceName)
	}
	r := &run{Config: cfg, result: bench.Large{Rest: cfg.Rest}}
	if err := r.all(ctx); err != nil {
		return r.result, fmt.Errorf("bench-scale: %w", err)
	}
	return r.result, nil
}

// run is both programs under the same load.
type run struct {
	Config
	sides  []*side
	result bench.Large
}

func (r *run) all(ctx context.Context) error {
	r.say("until %d pods run for each program, and then %s", r.Nodes*podsPerNode, r.watched())
	defer r.stop(ctx)
	for _, kind := range []struct {
		name  string
		start func(context.Context, Config) (*localcluster.Cluster, program, error)
		used  *bench.Used
	}{{operatorName, startOperator, &r.result.Operator}, {referenceName, startReference, &r.result.Reference}} {
		if r.Only != "" && r.Only != kind.name {
			continue
		}
		cfg := r.Config
		cfg.Name += "-" + kind.name
		if cfg.StateDir != "" {
			cfg.StateDir = filepath.Join(cfg.StateDir, kind.name)
		}
		r.say("%s", kind.name)
		s := &side{Config: cfg, name: kind.name, used: kind.used}
		r.sides = append(r.sides, s)
		var err error
		if s.cluster, s.program, err = kind.start(ctx, cfg); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, s := range r.sides {
		go s.watch(ctx, cancel)
	}
	err := r.measure(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// watched is how long it takes once all pods run.
func (c Config) watched() time.Duration {
	return (2*(c.Settle+c.Rest) + min(c.Rest, profiled)).Round(time.Second)
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintln(r.Progress, fmt.Sprintf(format, args...))
}

func (r *run) stop(ctx context.Context) {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	for _, s := range r.sides {
		s.stop(stopping)
	}
}

// each does something on all sides at the same time.
func (r *run) each(ctx context.Context, do func(*side, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range r.sides {
		group.Go(func() error {
			if err := do(s, ctx); err != nil {
				return fmt.Errorf("%s: %w; logs: %s", s.name, err, s.cluster.LogDir())
			}
			return nil
		})
	}
	return group.Wait()
}

// measure does it all on clusters that are up.
func (r *run) measure(ctx context.Context) error {
	if err := r.each(ctx, (*side).load); err != nil {
		return err
	}
	r.ofOperator(func(s *side) { r.result.ScaleUpCalls = s.calls().all })
	if err := r.settle(ctx, "all run"); err != nil {
		return err
	}
	if err := r.rest(ctx, func(s *side, w bench.Window) { s.used.Underutilized = w }); err != nil {
		return err
	}
	r.ofOperator(func(s *side) { r.result.Calls = s.restCalls })
	if err := r.each(ctx, (*side).profileAtRest); err != nil {
		return err
	}
	r.ofOperator(func(s *side) { r.result.Own = s.own })
	if err := r.each(ctx, (*side).planNothing); err != nil {
		return err
	}
	if err := r.settle(ctx, "only empty nodes may go from now on"); err != nil {
		return err
	}
	if err := r.rest(ctx, func(s *side, w bench.Window) { s.used.Empty = w }); err != nil {
		return err
	}
	r.ofOperator(func(s *side) { r.result.Throttled = s.calls().throttled })
	return r.each(ctx, func(s *side, ctx context.Context) error { return s.saveProfile(ctx, "heap", "heap-rest") })
}

// ofOperator notes what only the operator has: calls of the API, and code of this repository.
func (r *run) ofOperator(note func(*side)) {
	for _, s := range r.sides {
		if s.program.ours {
			note(s)
		}
	}
}

func (r *run) settle(ctx context.Context, what string) error {
	r.say("%s; leaving the clusters alone for %s", what, r.Settle)
	return pause(ctx, r.Settle)
}

// errNoRest is the cause when a cluster changed while it was to be at rest.
var errNoRest = errors.New("this was no rest")

// rest watches the programs for the length of Rest. A window in which a node or a pod came or went, as it does when the
// machine is too busy for all kubelets' heartbeats, is thrown away for both and taken again.
func (r *run) rest(ctx context.Context, keep func(*side, bench.Window)) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		err := r.each(ctx, func(s *side, ctx context.Context) error {
			window, err := s.window(ctx)
			keep(s, window)
			return err
		})
		if err == nil {
			return r.sameLoad()
		}
		if !errors.Is(err, errNoRest) || attempt == attempts {
			return err
		}
		r.say("%s; watching again", err)
		if err := r.each(ctx, (*side).untilAllRun); err != nil {
			return err
		}
	}
}

// sameLoad notes what the programs had to look after.
func (r *run) sameLoad() error {
	for i, s := range r.sides {
		nodes, pods := s.seen.nodes, s.seen.running
		if i > 0 && (r.result.Nodes != nodes || r.result.Pods != pods) {
			return fmt.Errorf("not the same load: %d nodes with %d pods, and for the %s %d with %d", r.result.Nodes, r.result.Pods, s.name, nodes,
				pods)
		}
		r.result.Nodes, r.result.Pods = nodes, pods
	}
	return nil
}

// pause waits; the error is ctx's when it ended first.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}
