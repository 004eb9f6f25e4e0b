package allocator_test

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// sweeps collects orphans, and ends claimants whose instance is not listed any
// more, as Karpenter does.
func (s *life) sweeps(ctx context.Context) {
	for ctx.Err() == nil {
		p := s.current()
		bounded, cancel := bound(p, time.Minute)
		collected, err := p.Collect(bounded, claims.Sweep{Alive: s.alive, Vacate: s.vacate})
		for _, node := range collected.Removed {
			s.mu.Lock()
			s.noteLocked("collected %d of %q", node.InstanceID, node.Claim)
			if !s.events.vacated[node.InstanceID] {
				s.errorf("instance %d went without leave", node.InstanceID)
			}
			s.mu.Unlock()
		}
		if claims.KindOf(err) == claims.KindInvalid {
			s.errorf("collect: %v", err)
		}
		s.compareList(bounded, p)
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(s.betweenSweeps()):
		}
	}
}

func (s *life) alive(context.Context) ([]claims.Claimant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var alive []claims.Claimant
	for _, c := range s.claims {
		alive = append(alive, c.who)
	}
	return alive, nil
}

// vacate takes a while, and refuses some nodes at first.
func (s *life) vacate(ctx context.Context, node claims.Node) (bool, error) {
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
	s.events.vacated[node.InstanceID] = true
	return true, nil
}

// betweenSweeps is shorter while there is something to get wrong. Afterwards
// each sweep costs much and finds little.
func (s *life) betweenSweeps() time.Duration {
	switch {
	case time.Now().Before(s.end):
		return 2 * time.Minute
	case time.Now().Before(s.end.Add(chaos)):
		return 4 * time.Minute
	}
	return 10 * time.Minute
}

// compareList compares the list with the claimants' records: what exists and
// carries its claim is in it, also if the platform's own lists lack it.
func (s *life) compareList(ctx context.Context, p *process) {
	claimed := map[int]string{}
	for _, instance := range s.instances() {
		claimed[instance.ID] = claimIn(instance.Tags)
	}
	holders := s.holders()
	nodes, err := p.List(ctx)
	if err != nil || p.ctx.Err() != nil {
		return
	}
	listed := map[int]string{}
	for _, node := range nodes {
		listed[node.InstanceID] = node.Claim
	}
	for _, c := range holders {
		claim := (claims.Tags{}).Value(c.who.Name)
		if claimed[c.instance] == claim && listed[c.instance] != claim && s.exists(c.instance) && !s.young(c) {
			s.errorf("at %s, the list lacks %d of %s", moment(time.Now()), c.instance, c.who.Name)
		}
		s.endMissing(c, listed[c.instance] == claim)
	}
}

// young reports whether the claim is newer than lists may lag: a process that
// has just begun to lead may not have seen it.
func (s *life) young(c claimant) bool {
	return !c.left.IsZero() || s.lagging && time.Since(c.got) < 3*time.Minute
}

// endMissing ends a claimant whose instance has been missing three times.
func (s *life) endMissing(seen claimant, listed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claims[seen.who.Name]
	switch {
	case c == nil:
	case listed:
		c.missing = 0
	case c.missing < 2:
		c.missing++
	default:
		c.vanished = s.calm
		s.forgetLocked(c, "its instance is gone")
	}
}
