package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Nodes of another owner's pool that come and go leave nothing behind.
func TestTheWorldIsAsLargeAsTheCluster(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(lkepool.Config{Records: new(claims.RecordMap)}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	for i := range 1000 {
		now = now.Add(5 * time.Minute)
		id := 1000 + i
		pool := lkepool.Pool{ID: 7, Count: 1, Autoscaled: true, InstanceType: "g6-standard-2",
			Slots: []lkepool.Slot{{NodeID: "7-" + time.Duration(i).String(), InstanceID: id}}}
		c.Handle(Asked{Token: i, Ask: Ask{Kind: AskList}}, now)
		c.Handle(Done{Action: Action{Op: OpListPools}, Began: now, Pools: []lkepool.Pool{pool}}, now)
		c.Handle(Done{Action: Action{Op: OpListInstances}, Began: now, Instances: []lkepool.Instance{{ID: id, Name: "lke7-7"}}}, now)
	}
	if size := c.known.Size(); size.Nodes > 5 || size.Pools > 5 || size.Keys > 0 || size.Requests > 20 {
		t.Errorf("of a cluster with one node it knows %+v", size)
	}
}

// An object that is gone is forgotten in time, also after a day of claims that come and go.
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
	if size := s.process.core.known.Size(); s.failure != "" || size.Nodes > 13 || size.Pools > 13 || size.Claims > 13 || size.Requests > 60 ||
		len(s.process.core.callers.Keys()) > 0 {
		t.Errorf("%q: it knows %+v", s.failure, size)
	}
}

// Creations fail after they had their effect, and lists are empty, while a user has set the lag of lists to a second. Each creation buys a
// node that nothing shows, so creations come ever more seldom.
func TestCreationsThatNoListShowsComeSeldom(t *testing.T) {
	plan := &simSchedule{seed: 1, simHarshness: simHarshness{harsh: true, listLag: time.Second}, world: simWeather{
		latency: 200 * time.Millisecond, idLeast: 5 * time.Second, idMost: 5 * time.Second, orphanTTL: time.Hour,
	}, lives: []simLife{{patience: 5 * time.Minute, again: time.Second}}, fates: []simFate{
		{op: OpCreate, times: 100, kind: faultApplied, takes: time.Second}, {op: OpListPools, times: 1000, kind: faultEmpty},
	}}
	s := newSim(plan, nil)
	s.lead()
	s.admit()
	s.runUntil(5 * time.Minute)
	if s.bought < 3 || s.bought > 12 {
		t.Errorf("%d nodes were bought for one claimant in five minutes", s.bought)
	}
}

// A late list shows an instance that its pool does not list any more. It takes the place of no node on its way, although a list that began
// before lacked it already.
func TestAReplacedInstanceIsRememberedForTheLagOfLists(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := lkepool.Config{Records: new(claims.RecordMap)}.WithDefaults()
	c := New(cfg, lkepool.Limits{PoolSize: 100, NodesLag: true}, now, true)
	pool := lkepool.Pool{ID: 7, Count: 2, InstanceType: "g6-standard-2",
		Tags: simTags.PoolTags(lkepool.Request{Key: simKeys[0]})}
	shows := func(after time.Duration, count int, inPool []int, listed ...int) {
		now = now.Add(after)
		pool.Count, pool.Slots = count, nil
		for _, id := range inPool {
			pool.Slots = append(pool.Slots, lkepool.Slot{NodeID: fmt.Sprint("7-", id), InstanceID: id})
		}
		c.Handle(Done{Action: Action{Op: OpGetPool, PoolID: 7}, Began: now, Pool: pool}, now)
		var instances []lkepool.Instance
		for _, id := range listed {
			instances = append(instances, lkepool.Instance{ID: id, PoolID: 7, Name: "lke7-7"})
		}
		c.Handle(Done{Action: Action{Op: OpListInstances}, Began: now, Instances: instances}, now)
	}
	shows(cfg.SettleTime, 2, []int{71, 72}, 71, 72)
	shows(2*cfg.ListLag, 2, []int{71, 73}, 71, 73)
	shows(cfg.ListLag/4, 3, []int{71, 73}, 71, 72)
	p, _ := c.known.View().Pool(7)
	if coming, _, _ := c.known.View().ComingTo(p); coming != 1 {
		t.Errorf("%d nodes are on their way to a pool of 3 that lists 2", coming)
	}
}
