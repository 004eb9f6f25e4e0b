package lkepool_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// The sweeps of a schedule, and what has to be true after it.

// sweeps collects orphans, and ends claimants whose instance is not listed any
// more, as Karpenter does.
func (s *schedule) sweeps(ctx context.Context) {
	for ctx.Err() == nil {
		p, began := s.current(), time.Now()
		bounded, cancel := bound(p, time.Minute)
		collected, err := p.Collect(bounded, lkepool.Sweep{Alive: func(context.Context) ([]string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var alive []string
			for name := range s.claims {
				alive = append(alive, name)
			}
			return alive, nil
		}, Vacate: s.vacate})
		s.mu.Lock()
		s.swept = append(s.swept, span{from: began, to: time.Now()})
		s.mu.Unlock()
		for _, node := range collected.Released {
			s.note("collected %d of %q", node.InstanceID, node.Claim)
			s.mu.Lock()
			if !s.vacated[node.InstanceID] {
				s.errorf("instance %d went without leave", node.InstanceID)
			}
			s.mu.Unlock()
		}
		if kind := lkepool.KindOf(err); kind == lkepool.KindInvalid || kind == lkepool.KindForbidden {
			s.errorf("collect: %v", err)
		}
		nodes, err := p.List(bounded)
		cancel()
		if err == nil && p.ctx.Err() == nil {
			s.endMissing(nodes)
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.betweenSweeps()):
		}
	}
}

// vacate takes a while, and refuses some nodes at first.
func (s *schedule) vacate(ctx context.Context, node lkepool.Node) (bool, error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(time.Duration(node.InstanceID%20) * time.Second):
	}
	if time.Now().Before(s.end) && (node.InstanceID+time.Now().Minute())%3 == 0 {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vacated[node.InstanceID] = true
	return true, nil
}

// betweenSweeps is shorter while there is something to get wrong. Afterwards
// each sweep costs much and finds little.
func (s *schedule) betweenSweeps() time.Duration {
	switch {
	case time.Now().Before(s.end):
		return 2 * time.Minute
	case time.Now().Before(s.end.Add(chaos)):
		return 4 * time.Minute
	}
	return 10 * time.Minute
}

func (s *schedule) endMissing(nodes []lkepool.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.claims {
		listed := slices.ContainsFunc(nodes, func(n lkepool.Node) bool { return n.InstanceID == c.instance })
		switch {
		case c.instance == 0 || listed:
			c.missing = 0
		case c.missing < 2:
			c.missing++
		default:
			if s.calm {
				s.errorf("the instance %d of %s vanished", c.instance, name)
			}
			delete(s.claims, name)
			s.didLocked(c, leaves)
			s.log = append(s.log, fmt.Sprintf("%s ends because %d is gone", name, c.instance))
		}
	}
}

// verify checks the invariants when all is at rest.
func (s *schedule) verify() {
	s.audit()
	if total, _, _ := s.calls(); total > *mostCalls {
		s.errorf("livelock: %d calls", total)
	}
	held := map[string][]world.Instance{}
	for _, instance := range s.instances() {
		held[claimIn(instance.Tags)] = append(held[claimIn(instance.Tags)], instance)
	}
	for _, instance := range held[""] {
		s.errorf("I3: instance %d of pool %d is left without a claimant", instance.ID, instance.PoolID)
	}
	delete(held, "")
	for name, c := range s.claims {
		if mine := held[lkepool.ClaimValue(name)]; len(mine) != 1 || mine[0].ID != c.instance {
			s.errorf("I3: %s believes to have %d, and has %d instances", name, c.instance, len(mine))
		}
		delete(held, lkepool.ClaimValue(name))
	}
	for claim, instances := range held {
		s.errorf("I3: %d instances are left of claimant %s, who is gone", len(instances), claim)
	}
	if total := len(s.claims); s.count() != total {
		s.errorf("I3: the pools have a count of %d for %d claimants", s.count(), total)
	}
	for _, pool := range s.ours() {
		if pool.Count == 0 {
			s.errorf("I3: pool %d is left empty", pool.ID)
		}
	}
	bought, excused := checkNeeds(s.sim.Audit(), s.deeds, needs{keyOf: s.keyOf, passes: s.passes, sweeps: s.swept, reads: s.reads, settle: settle, errorf: s.errorf})
	if s.calm && (bought != len(s.claims) || excused != 0) {
		s.errorf("I5: %d nodes were asked for %d claimants", bought, len(s.claims))
	}
}
