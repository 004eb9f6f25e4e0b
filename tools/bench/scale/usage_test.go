package scale

import (
	"os"
	"runtime"
	"testing"

	"github.com/prometheus/procfs"
)

func TestUsageOfAProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there is nothing to read
	}
	got, err := usageOf(os.Getpid())
	if err != nil || got.peakRSS < 1<<20 || got.peakRSS > 1<<40 || got.rss > got.peakRSS || got.cpu < 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := usageOf(1 << 30); err == nil {
		t.Error("a process that is not there has used something")
	}
}

// What waits for a disk is idle, and guests count once.
func TestIdleOfTheMachine(t *testing.T) {
	first := idleOf(procfs.CPUStat{User: 100, Nice: 10, System: 50, Idle: 800, Iowait: 40, Guest: 7})
	if first != (idle{idle: 840, all: 1000}) {
		t.Errorf("got %+v", first)
	}
	second := idleOf(procfs.CPUStat{User: 200, Nice: 10, System: 50, Idle: 1000, Iowait: 140, Guest: 57})
	if share := second.since(first); share != 0.75 {
		t.Errorf("idle for %v of the time", share)
	}
	if share := first.since(first); share != 0 {
		t.Errorf("idle for %v of no time", share)
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		n, parts int
		want     []int
	}{{30, 3, []int{10, 10, 10}}, {11, 3, []int{4, 4, 3}}, {1, 1, []int{1}}} {
		got := spread(test.n, test.parts)
		total := 0
		for i := range got {
			total += got[i]
			if got[i] != test.want[i] {
				t.Errorf("%d in %d parts: %v, want %v", test.n, test.parts, got, test.want)
				break
			}
		}
		if total != test.n {
			t.Errorf("%d in %d parts are %d", test.n, test.parts, total)
		}
	}
}
