package scale

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// side is one of the programs, on its cluster.
type side struct {
	Config
	name      string
	cluster   *localcluster.Cluster
	program   program
	kube      client.Client
	began     time.Time
	used      *bench.Used
	seen      observed // at the latest rest
	restCalls int      // to the Linode API in the latest rest
	own       float64  // the part of a core that this repository's code used
}

func (s *side) say(format string, args ...any) {
	fmt.Fprintf(s.Progress, "%9s %7s  %s\n", s.name, time.Since(s.began).Round(time.Second), fmt.Sprintf(format, args...))
}

func (s *side) stop(ctx context.Context) {
	if s.program.stop != nil {
		s.program.stop(ctx)
	}
	if s.cluster != nil {
		s.cluster.Stop(ctx)
	}
}

// watch cancels when the program or something of its cluster ends by itself.
func (s *side) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-s.program.Exited():
		cancel(fmt.Errorf("%s: the program ended; logs: %s", s.name, s.cluster.LogDir()))
	case err := <-s.cluster.Died():
		cancel(fmt.Errorf("%s: %w; logs: %s", s.name, err, s.cluster.LogDir()))
	case <-ctx.Done():
	}
}

// load gives the program its pods, and waits until all run.
func (s *side) load(ctx context.Context) error {
	kube, err := s.cluster.Client()
	if err != nil {
		return err
	}
	s.kube = kube
	s.began = time.Now()
	if err := s.apply(ctx); err != nil {
		return err
	}
	if err := s.untilAllRun(ctx); err != nil {
		return err
	}
	s.used.ScaleUp = time.Since(s.began)
	return s.saveProfile(ctx, "heap", "heap-busy")
}

// window watches the program for the length of Rest.
func (s *side) window(ctx context.Context) (bench.Window, error) {
	before, err := usageOf(s.program.PID())
	if err != nil {
		return bench.Window{}, err
	}
	if s.seen, err = s.observe(ctx); err != nil {
		return bench.Window{}, err
	}
	calls := s.calls()
	s.say("peak so far: %d MB; watching for %s", before.peakRSS>>20, s.Rest)
	memory, after, err := s.watchRest(ctx, before)
	if err != nil {
		return bench.Window{}, err
	}
	s.restCalls = s.calls().all - calls.all
	left, err := s.observe(ctx)
	if err != nil {
		return bench.Window{}, err
	}
	if left != s.seen {
		return bench.Window{}, fmt.Errorf("%w: at its start there was %s, at its end %s", errNoRest, s.seen, left)
	}
	s.used.PeakRSS = after.peakRSS
	return bench.Window{Memory: memory, CPU: after.cpu - before.cpu}, nil
}

// watchRest waits, and reports every minute what the program has used meanwhile. memory is the mean of what it had.
func (s *side) watchRest(ctx context.Context, before usage) (memory int, last usage, err error) {
	sum, samples, minute := 0, 0, before
	machine, err := machineIdle()
	if err != nil {
		return 0, before, err
	}
	for waited, reported := time.Duration(0), time.Duration(0); waited < s.Rest; samples++ {
		step := min(s.Rest-waited, poll)
		if err := pause(ctx, step); err != nil {
			return 0, last, err
		}
		if last, err = usageOf(s.program.PID()); err != nil {
			return 0, last, err
		}
		waited += step
		sum += last.rss
		if waited-reported >= time.Minute || waited == s.Rest {
			now, err := machineIdle()
			if err != nil {
				return 0, last, err
			}
			s.say("at rest: %.1f%% of a core, %d MB; the machine was idle for %.0f%%",
				100*(last.cpu-minute.cpu).Seconds()/(waited-reported).Seconds(), last.rss>>20, 100*now.since(machine))
			minute, reported, machine = last, waited, now
		}
	}
	return sum / max(samples, 1), last, nil
}

// profiled is how long the use of the processor is profiled, at most; once in every ten
// seconds of it core looks at all nodes.
const profiled = time.Minute

// profileAtRest finds the part of a core that this repository's code uses at rest. The reference is profiled too: a profile
// takes memory, which the next window would show.
func (s *side) profileAtRest(ctx context.Context) error {
	window := min(s.Rest, profiled).Round(time.Second)
	s.say("looking for %s whose the processor time is", window)
	cpu, err := s.profile(ctx, fmt.Sprintf("profile?seconds=%d", int(window.Seconds())), "cpu-underutilized")
	if err != nil {
		return err
	}
	used, err := own(bytes.NewReader(cpu))
	s.own = used.Seconds() / window.Seconds()
	return err
}

// planNothing leaves core nothing to plan: only empty nodes may go from now on.
func (s *side) planNothing(ctx context.Context) error {
	pool := &karpv1.NodePool{}
	if err := s.kube.Get(ctx, client.ObjectKey{Name: "load"}, pool); err != nil {
		return err
	}
	pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
	if err := s.kube.Update(ctx, pool); err != nil {
		return fmt.Errorf("the NodePool's policy: %w", err)
	}
	return nil
}

// counts of requests to the Linode API so far.
type counts struct{ all, throttled int }

func (s *side) calls() counts {
	var c counts
	for _, call := range s.cluster.Sim.Calls() {
		c.all += call.N
		if call.Status == 429 {
			c.throttled += call.N
		}
	}
	return c
}

func (s *side) saveProfile(ctx context.Context, what, name string) error {
	if s.Profiles == "" {
		return nil
	}
	_, err := s.profile(ctx, what, name)
	return err
}

// profile is one of pprof's, kept if that is wanted.
func (s *side) profile(ctx context.Context, what, name string) ([]byte, error) {
	content, err := download(ctx, s.program.profile(what))
	if err != nil || s.Profiles == "" {
		return content, err
	}
	folder := filepath.Join(s.Profiles, filepath.Base(s.Name))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return content, os.WriteFile(filepath.Join(folder, name+".pprof"), content, 0o644)
}
