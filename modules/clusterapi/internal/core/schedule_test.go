package core_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

var (
	scheduleCount    = flag.Int("schedules", 4_000, "how many random schedules to run; with -short a twentieth")
	scheduleSeed     = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
	scheduleFailures = flag.Int("failures", 20, "after how many violations a run ends")
	scheduleProgress = flag.Duration("progress", 0, "how often to print how many schedules are done; 0 is never")
)

func TestSchedules(t *testing.T) {
	count := *scheduleCount
	if testing.Short() {
		count = max(1, count/20)
	}
	seeds := schedule.Seeds{First: *scheduleSeed, Count: count, Failures: *scheduleFailures, Every: *scheduleProgress}
	if seeds.Every > 0 {
		seeds.Progress = func(r schedule.Report) {
			t.Logf("%d schedules, %d violations, %s", r.Done, len(r.Failed), r.Took.Round(time.Second))
		}
	}
	report := seeds.Run(func(seed uint64) string { return newLife(seed, nil).run() })
	for i, failed := range report.Failed {
		t.Errorf("seed %d: %s", failed.Seed, failed.Why)
		if i == 0 {
			var trace []string
			newLife(failed.Seed, &trace).run()
			t.Log("\n" + strings.Join(trace, "\n"))
		}
	}
	t.Logf("%d schedules, %d violations, %s", report.Done, len(report.Failed), report.Took.Round(time.Millisecond))
}

// TestSchedulesReachEveryWrite keeps the schedules from missing a part of the engine.
func TestSchedulesReachEveryWrite(t *testing.T) {
	landed := map[clusterapi.Op]int{}
	for seed := range uint64(200) {
		l := newLife(seed, nil)
		if why := l.run(); why != "" {
			t.Errorf("seed %d: %s", seed, why)
		}
		for op, n := range l.landed {
			landed[op] += n
		}
	}
	for _, op := range []clusterapi.Op{clusterapi.OpClaim, clusterapi.OpFence, clusterapi.OpRelease, clusterapi.OpScale, clusterapi.OpPause,
		clusterapi.OpShrink, clusterapi.OpResume} {
		if landed[op] < 5 {
			t.Errorf("%s took effect %d times", op, landed[op])
		}
	}
	t.Log(landed)
}
