package bench_test

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// runHeap measures the memory that a burst on one key takes.
//
// Engine, client and simulator share a process, and the simulator's own growth
// is not taken off, so the figure is more than what the engine and the client
// need. Garbage is collected early while it is measured, and the heap is looked
// at whenever an answer has arrived and is about to be decoded.
func runHeap(t *testing.T, tier string, claims int) bench.Crowd {
	t.Helper()
	before, running := goleak.IgnoreCurrent(), runtime.NumGoroutine()
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	var peak atomic.Uint64
	c := bench.Crowd{Tier: tier, Claims: claims}
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, tier, linodesim.Realistic(), *seed)
		o := newOperator(t, l, *createDeadline)
		time.Sleep(upFor)
		runtime.GC()
		start := heap()
		l.log.answer = func() {
			for now := heap(); ; {
				old := peak.Load()
				if now <= old || peak.CompareAndSwap(old, now) {
					return
				}
			}
		}
		o.burst(t, scene{n: claims, seed: *seed})
		c.Bytes = peak.Load() - start
	})
	if err := goleak.Find(before); err != nil {
		t.Log(err)
		c.Left = runtime.NumGoroutine() - running
	}
	return c
}

// heap is the memory that objects take, including objects that are garbage and
// not yet collected.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
