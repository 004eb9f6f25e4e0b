package engine

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// burstOf lets n claimants come at once, and returns the time that the core took
// altogether, and how many events it handled.
func burstOf(tb testing.TB, n int, enterprise bool) (took time.Duration, events int) {
	tb.Helper()
	plan := &simSchedule{seed: 1, enterprise: enterprise, world: simWeather{
		latency: 200 * time.Millisecond, idLeast: 5 * time.Second, idMost: 30 * time.Second, orphanTTL: 5 * time.Minute,
	}}
	s := newSim(plan, nil)
	s.timed = &took
	s.lead()
	s.runUntil(3 * time.Minute)
	sc := &scene{sim: s}
	for i := range n {
		sc.asks(sc.newClaimant("c"+strconv.Itoa(i), simKeys[0]), 10*time.Minute, 0, true)
	}
	s.runUntil(s.Now + 5*time.Minute)
	served := 0
	for _, c := range s.claimants {
		if c.handed != 0 {
			served++
		}
	}
	if served != n || s.failure != "" {
		tb.Fatalf("%d of %d are served: %s", served, n, s.failure)
	}
	return took, s.facts.events
}

// BenchmarkBurst measures what claims that come at once cost the core: one event costs what it changes, so that 2,000 take at most 2 s.
func BenchmarkBurst(b *testing.B) {
	for _, n := range []int{100, 500, 1000, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				took, events := burstOf(b, n, false)
				b.ReportMetric(took.Seconds(), "core-s")
				b.ReportMetric(float64(events), "events")
			}
		})
	}
}
