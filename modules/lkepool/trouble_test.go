package lkepool_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// What goes wrong in a schedule: kills, faults of the API, and what the platform
// and people do by themselves.

// kills ends the process now and then, and starts another.
func (s *schedule) kills(random *rand.Rand) {
	for range random.IntN(4) {
		time.Sleep(time.Duration(random.Int64N(int64(chaos / 3))))
		p := s.current()
		p.kill()
		s.note("killed")
		time.Sleep(time.Duration(random.Int64N(int64(5 * time.Second))))
		s.restart()
		s.note("started again")
	}
}

const (
	poolsRoute     = "/lke/clusters/{clusterId}/pools"
	poolRoute      = "/lke/clusters/{clusterId}/pools/{poolId}"
	nodeRoute      = "/lke/clusters/{clusterId}/nodes/{nodeId}"
	instancesRoute = "/linode/instances"
	instanceRoute  = "/linode/instances/{linodeId}"
)

// faults lets requests go wrong for a while, one way after another.
func (s *schedule) faults(random *rand.Rand) {
	routes := []string{"", poolsRoute, poolRoute, nodeRoute, instancesRoute, instanceRoute}
	lists := []string{poolsRoute, instancesRoute}
	for time.Now().Before(s.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Minute))))
		rule := linodesim.Rule{Route: routes[random.IntN(len(routes))], Probability: 0.1 + 0.9*random.Float64()}
		switch random.IntN(6) {
		case 0:
			rule.Status, rule.RetryAfter = 429, time.Duration(1+random.IntN(10))*time.Second
		case 1:
			rule.Status, rule.AfterEffect = 500+random.IntN(4), random.IntN(2) == 0
		case 2:
			rule.Drop, rule.AfterEffect = true, random.IntN(2) == 0
		case 3:
			rule.Delay = time.Duration(random.IntN(60)) * time.Second
		case 4:
			rule.Route, rule.Stale = lists[random.IntN(2)], time.Duration(1+random.IntN(3))*time.Second
			rule.Method = "GET"
		case 5:
			rule.Status, rule.HTML = 502, true
		}
		s.note("fault %+v", rule)
		id := s.sim.Fail(rule)
		time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
		s.sim.Heal(id)
	}
	s.sim.HealAll()
}

// trouble is what happens in a cluster besides.
func (s *schedule) trouble(random *rand.Rand) {
	for !s.calm && time.Now().Before(s.end) {
		time.Sleep(time.Duration(random.Int64N(int64(4 * time.Minute))))
		switch random.IntN(8) {
		case 0:
			kind := s.keys[random.IntN(len(s.keys))].InstanceType
			s.sim.RefuseCapacity(linodesim.NoCapacity{Type: kind})
			s.refusing(lkepool.KindInsufficientCapacity, kind, time.Duration(random.Int64N(int64(2*time.Minute))))
			s.sim.RestoreCapacity()
		case 1:
			s.sim.SetAccountLimit(10)
			s.refusing(lkepool.KindQuotaExceeded, "", time.Duration(random.Int64N(int64(time.Minute))))
			s.sim.SetAccountLimit(0)
		case 2:
			if all := s.instances(); len(all) > 0 {
				id := all[random.IntN(len(all))].ID
				s.note("deleted by hand: %d %v", id, s.sim.DeleteInstance(id))
			}
		case 3:
			s.retag(random)
		default:
			s.meddling.Lock()
			if pools := s.ours(); len(pools) > 0 {
				s.meddle(pools[random.IntN(len(pools))], random)
			}
			s.meddling.Unlock()
		}
	}
}

// refusing waits while the platform refuses more nodes.
func (s *schedule) refusing(kind lkepool.Kind, instanceType string, d time.Duration) {
	s.note("%s of %q", kind, instanceType)
	s.mu.Lock()
	s.refusals = append(s.refusals, refusal{kind: kind, instanceType: instanceType, from: time.Now(), to: time.Now().Add(d)})
	s.mu.Unlock()
	time.Sleep(d)
}

// refused says whether the platform refused such nodes at any time since.
func (s *schedule) refused(kind lkepool.Kind, instanceType string, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.refusals, func(r refusal) bool {
		return r.kind == kind && (r.instanceType == "" || r.instanceType == instanceType) && !r.to.Before(since)
	})
}

// hollow says whether a pool of the key has the place of a Linode that somebody
// deleted, for a node that LKE, in this schedule, does not replace.
func (s *schedule) hollow(key lkepool.Key) bool {
	all := s.sim.Snapshot().Instances
	return slices.ContainsFunc(s.ours(), func(pool world.Pool) bool {
		return slices.Contains(pool.Tags, poolKeyTag+key.Hash()) && slices.ContainsFunc(pool.Nodes, func(place world.Node) bool {
			return place.InstanceID != 0 && !slices.ContainsFunc(all, func(i world.Instance) bool { return i.ID == place.InstanceID })
		})
	})
}

// ambush makes somebody meddle with a pool in the moment in which the engine
// looks at it, which it does right before it changes it.
func (s *schedule) ambush(random *rand.Rand) {
	s.before = func(poolID int) {
		s.meddling.Lock()
		defer s.meddling.Unlock()
		if time.Now().After(s.end) || random.IntN(12) > 0 {
			return
		}
		for _, pool := range s.ours() {
			if pool.ID == poolID {
				s.meddle(pool, random)
			}
		}
	}
}

// mostTaken is how often a schedule takes nodes out of pools by hand. Someone
// who does that more often is told that there is a conflict (TestCountEditedByHand).
const mostTaken = 2

// meddle is what the platform, or a person, does to a pool.
func (s *schedule) meddle(pool world.Pool, random *rand.Rand) {
	count := pool.Count + 1 + random.IntN(3)
	switch {
	case len(pool.Nodes) > 0 && random.IntN(3) == 0:
		node := pool.Nodes[random.IntN(len(pool.Nodes))]
		s.note("recycle %s %v", node.ID, s.sim.RecycleNode(s.cluster.ID, node.ID))
		return
	case len(pool.Nodes) > 0 && s.taken < mostTaken && random.IntN(2) == 0:
		s.taken++
		if random.IntN(2) == 0 {
			node := pool.Nodes[random.IntN(len(pool.Nodes))]
			s.note("deleted by hand: %s %v", node.ID, s.sim.DeleteNode(s.cluster.ID, node.ID))
			return
		}
		count = max(1, pool.Count-1-random.IntN(3))
	}
	s.note("pool %d scaled by hand to %d: %v", pool.ID, count, s.sim.EditPool(s.cluster.ID, pool.ID, linodesim.PoolEdit{Count: &count}))
}

// retag changes user tags of some claimed instances.
func (s *schedule) retag(random *rand.Rand) {
	for _, instance := range s.instances() {
		if claimIn(instance.Tags) == "" || random.IntN(2) == 0 {
			continue
		}
		p := s.current()
		ctx, cancel := bound(p, time.Minute)
		err := p.SetTags(ctx, instance.ID, []string{"team=a"}, []string{"team=b"})
		cancel()
		switch lkepool.KindOf(err) {
		case lkepool.KindInvalid, lkepool.KindForbidden:
			s.errorf("set tags: %v", err)
		}
	}
}
