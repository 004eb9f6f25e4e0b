package lkepool_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// progress counts schedules, and prints the count now and then for whoever
// watches a long run.
type progress struct {
	total            int
	watched          bool
	finished, failed atomic.Int64
}

// newProgress prints every so often until the test and its subtests have ended.
func newProgress(t *testing.T, total int, every time.Duration) *progress {
	p := &progress{total: total}
	if every <= 0 {
		return p
	}
	p.watched = true
	ctx, stop := context.WithCancel(context.Background())
	var printing sync.WaitGroup
	t.Cleanup(func() { stop(); printing.Wait() })
	printing.Go(func() { p.print(ctx, every) })
	return p
}

// done counts a schedule. A long run tells of a failure at once: the test's own
// report comes when all have ended.
func (p *progress) done(failed bool, seed uint64, why []string) {
	p.finished.Add(1)
	if !failed {
		return
	}
	p.failed.Add(1)
	if p.watched {
		fmt.Fprintf(os.Stderr, "failed: seed %d; %s\n\t%s\n", seed, replay(seed), strings.Join(why, "\n\t"))
	}
}

func (p *progress) print(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	began := time.Now()
	for more := true; more; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			more = false
		}
		fmt.Fprintf(os.Stderr, "schedules: %d of %d done, %d failed, %s\n",
			p.finished.Load(), p.total, p.failed.Load(), time.Since(began).Round(time.Second))
	}
}

// A schedule that may send one request fails.
func TestAFailureTellsHowToReplayIt(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSchedules$", "-schedules", "1", "-seed", "7", "-most-calls", "1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), replay(7)) {
		t.Errorf("%v; no %q in\n%s", err, replay(7), out)
	}
}
