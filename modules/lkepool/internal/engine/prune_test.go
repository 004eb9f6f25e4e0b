package engine

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Nodes of another owner's pool that come and go leave nothing behind.
func TestTheWorldIsAsLargeAsTheCluster(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	for i := range 1000 {
		now = now.Add(5 * time.Minute)
		id := 1000 + i
		pool := lkepool.Pool{ID: 7, Count: 1, Autoscaled: true, InstanceType: "g6-standard-2",
			Slots: []lkepool.Slot{{NodeID: "7-" + time.Duration(i).String(), InstanceID: id}}}
		c.Handle(Asked{Token: i, Ask: Ask{Kind: AskList}}, now)
		c.Handle(Done{Action: Action{Op: OpListPools}, Began: now, Pools: []lkepool.Pool{pool}}, now)
		c.Handle(Done{Action: Action{Op: OpListInstances}, Began: now, Instances: []lkepool.Instance{{ID: id, Name: "lke7-7"}}}, now)
	}
	if n := len(c.belief.Nodes.Rows); n > 5 {
		t.Errorf("the world has %d nodes of a cluster with one", n)
	}
	if len(c.belief.Absent.Nodes.Rows) > 5 || len(c.belief.Purchases.Keys) > 0 {
		t.Errorf("it has %d that are gone, and %d keys", len(c.belief.Absent.Nodes.Rows), len(c.belief.Purchases.Keys))
	}
}

// Objects that are gone are forgotten in time, also after a day of claims that come and go.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	plan := &simSchedule{seed: 1, world: simWeather{
		latency: 200 * time.Millisecond, idLeast: 5 * time.Second, idMost: 5 * time.Second, orphanTTL: time.Minute,
	}}
	s := newSim(plan, nil)
	for i := range 200 {
		plan.lives = append(plan.lives,
			simLife{at: time.Duration(i) * 90 * time.Second, patience: time.Minute, again: time.Second, keeps: time.Minute})
	}
	s.lead()
	s.admit()
	s.sweeps()
	s.runUntil(200*90*time.Second + 30*time.Minute)
	w, callers := s.process.core.belief, s.process.core.callers
	if s.failure != "" || len(w.Nodes.Rows) > 3 || len(w.Absent.Nodes.Rows) > 10 || len(w.Absent.Pools.Rows) > 10 || len(callers.Claims) > 0 ||
		len(w.Index.ByClaim) > 3 {
		t.Errorf("%q: %d nodes, %d and %d gone, %d claims, %d names", s.failure,
			len(w.Nodes.Rows), len(w.Absent.Nodes.Rows), len(w.Absent.Pools.Rows),
			len(callers.Claims),
			len(w.Index.ByClaim))
	}
}
