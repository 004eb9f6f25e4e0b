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
)

// window watches the operator for the length of Rest.
func (r *run) window(ctx context.Context) (bench.Window, error) {
	before, err := usageOf(r.cluster.Operator.PID())
	if err != nil {
		return bench.Window{}, err
	}
	if r.seen, err = r.observe(ctx); err != nil {
		return bench.Window{}, err
	}
	r.say("peak so far: %d MB; watching for %s", before.peakRSS>>20, r.Rest)
	memory, after, err := r.watchRest(ctx, before)
	if err != nil {
		return bench.Window{}, err
	}
	left, err := r.observe(ctx)
	if err != nil {
		return bench.Window{}, err
	}
	if left != r.seen {
		return bench.Window{}, fmt.Errorf("%w: it started with %s and ended with %s", errNoRest, r.seen, left)
	}
	r.result.PeakRSS = after.peakRSS
	return bench.Window{Memory: memory, CPU: after.cpu - before.cpu}, nil
}

// watchRest waits for the length Rest, and prints every minute what the operator has used since the last line. memory is the mean of its
// physical memory.
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
		if last, err = usageOf(r.cluster.Operator.PID()); err != nil {
			return 0, last, err
		}
		waited += step
		sum += last.rss
		if waited-reported >= time.Minute || waited == r.Rest {
			now, err := machineIdle()
			if err != nil {
				return 0, last, err
			}
			r.say("at rest: %.1f%% of a core, %d MB; the machine was idle for %.0f%%",
				100*(last.cpu-minute.cpu).Seconds()/(waited-reported).Seconds(), last.rss>>20, 100*now.since(machine))
			minute, reported, machine = last, waited, now
		}
	}
	return sum / max(samples, 1), last, nil
}

// profiled is the longest time of the CPU profile. In this time Karpenter core looks at
// all nodes every ten seconds.
const profiled = time.Minute

// profileAtRest measures the share of a processor core that this repository's code uses at rest.
func (r *run) profileAtRest(ctx context.Context) error {
	window := min(r.Rest, profiled).Round(time.Second)
	r.say("taking a CPU profile for %s", window)
	cpu, err := r.profile(ctx, fmt.Sprintf("profile?seconds=%d", int(window.Seconds())), "cpu-underutilized")
	if err != nil {
		return err
	}
	used, err := own(bytes.NewReader(cpu))
	r.result.Own = used.Seconds() / window.Seconds()
	return err
}

// planNothing changes the NodePool's policy, so that consolidation may remove only empty nodes and core has nothing to plan.
func (r *run) planNothing(ctx context.Context) error {
	pool := &karpv1.NodePool{}
	if err := r.kube.Get(ctx, client.ObjectKey{Name: "load"}, pool); err != nil {
		return err
	}
	pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
	if err := r.kube.Update(ctx, pool); err != nil {
		return fmt.Errorf("the NodePool's policy: %w", err)
	}
	return nil
}

// counts has the numbers of requests to the Linode API so far.
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

// profile downloads a profile of pprof from the operator, and stores it if Profiles names a folder.
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
