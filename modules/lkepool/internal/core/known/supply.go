package known

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/pace"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// supply measures how long this platform takes to bring nodes, and schedules looks for them.
type supply struct {
	// usual are the times that the last nodes of each instance type took from their purchase to their instance.
	usual map[string][]taken
	// witnessed: a list of instances has shown all instances that existed when this process began to lead.
	witnessed bool
	// running: a look is under way, for so many nodes, by the requests for targets, since began. next is when the next look is due.
	running bool
	nodes   int
	targets []Target
	began   time.Time
	next    time.Time
	pace    pace.Pace
}

// taken is how long a node took: seen is when a reading showed it, and unseen when the last look before that did not show it.
type taken struct{ unseen, seen time.Duration }

// waitFor returns how long a node of an instance type counts as on its way.
func (s *supply) waitFor(instanceType string) time.Duration {
	last := s.usual[instanceType]
	if len(last) == 0 {
		return tuning.FirstWait
	}
	slowest := slices.MaxFunc(last, func(a, b taken) int { return cmp.Compare(a.seen, b.seen) })
	return max(tuning.ShortestWait, tuning.Slowness*slowest.seen)
}

// arrived measures how long a node took that has arrived. The node counts as the oldest node on its way to the pool.
func (s *supply) arrived(k *Known, poolID int) {
	p, ok := k.pools.get(poolID)
	if !ok || len(p.coming) == 0 {
		return
	}
	since := p.coming[0].since
	last := append(s.usual[p.rec.Value.InstanceType], taken{unseen: max(0, s.pace.Last().Sub(since)), seen: k.now.Sub(since)})
	s.usual[p.rec.Value.InstanceType] = last[max(0, len(last)-tuning.Measured):]
}

// countComing compares the places of each pool with the instances that have taken them. The other places are nodes on their way, or
// holes.
func (k *Known) countComing() {
	for _, p := range k.pools.rows {
		if p.Ours() {
			k.countPool(p)
		}
	}
}

// countAt does the same for one pool. It counts all pools after an instance has come or moved.
func (k *Known) countAt(poolID int) {
	p, known := k.pools.get(poolID)
	switch {
	case k.byHome == nil:
		k.countComing()
	case known && p.Ours():
		k.countPool(p)
	}
}

func (k *Known) countPool(p *Pool) {
	listed, unlisted, taken := 0, 0, 0
	for _, s := range p.rec.Value.Slots {
		if s.InstanceID != 0 {
			taken++
		}
	}
	for _, n := range k.homed(p.ID()) {
		switch shows := p.SlotOf(n.ID()) != ""; {
		case !n.occupies(shows, k.missedTwice(n)) || k.View().Detached(n):
		case shows:
			listed++
		default:
			unlisted++
		}
	}
	// An instance that the pool does not list takes a place that no other instance has. An instance that was replaced takes no place.
	members := listed + min(unlisted, max(0, p.rec.Value.Count-taken))
	missing := max(0, p.rec.Value.Count-members)
	var now []coming
	for _, s := range p.rec.Value.Slots {
		n, known := k.nodes.get(s.InstanceID)
		if len(now) == missing {
			break
		}
		switch {
		case s.InstanceID == 0 || !known:
			now = append(now, coming{slot: s.NodeID})
		case !n.occupies(true, k.missedTwice(n)):
			now = append(now, coming{slot: s.NodeID, since: n.rec.Missing})
		}
	}
	for len(now) < missing {
		now = append(now, coming{})
	}
	p.coming = k.keepTimes(p.coming, now)
}

// missedTwice reports whether two reads of an instance, the settle time apart, were answered 404.
func (k *Known) missedTwice(n *Node) bool {
	return k.View().twice(Target{Op: event.OpGetInstance, ID: n.ID()}, n.rec.Missing)
}

// keepTimes gives each node on its way the time of its purchase. A slot keeps its time while the pool lists it. A slot that is listed for
// the first time gets the time of a node that had no slot. When a node without a slot arrives, the oldest time goes. Example: nodes without
// a slot were bought at 10:00:00 and 10:00:04. One arrives at 10:00:09, and the time 10:00:04 stays. The platform fills a slot whose Linode
// was answered 404 after that, so the slot counts from the first 404.
func (k *Known) keepTimes(before, now []coming) []coming {
	at := func(slot string) int {
		return slices.IndexFunc(before, func(c coming) bool { return c.slot == slot && slot != "" })
	}
	need := 0
	for _, c := range now {
		if at(c.slot) < 0 {
			need++
		}
	}
	unnamed := slices.DeleteFunc(slices.Clone(before), func(c coming) bool { return c.slot != "" })
	unnamed = unnamed[max(0, len(unnamed)-need):]
	for i := range now {
		c := &now[i]
		switch at := at(c.slot); {
		case at >= 0:
			if since := before[at].since; since.After(c.since) {
				c.since = since
			}
		case len(unnamed) > 0:
			c.since, unnamed = unnamed[0].since, unnamed[1:]
		default:
			c.since = k.now
		}
	}
	slices.SortStableFunc(now, func(a, b coming) int { return a.since.Compare(b.since) })
	return now
}

// grown schedules the first look for an answered purchase. A look for earlier purchases that is due sooner is not put off.
func (s *supply) grown(k *Known) {
	s.pace.Grow(k.now)
	first := k.now.Add(min(k.cfg.RetryDelay, tuning.FirstReadAfter))
	if !s.next.After(k.now) || first.Before(s.next) {
		s.next = first
	}
}

// started notes a request that is part of a look.
func (s *supply) started(a event.Action, now time.Time) {
	if a.Look == 0 {
		return
	}
	if s.nodes = a.Look; !s.running {
		s.running, s.began, s.targets = true, now, nil
	}
	s.targets = append(s.targets, TargetOf(a))
}

// ended notes the end of a request. After the last request of a look it schedules the next look. A look that was cancelled has shown
// nothing, so it is repeated sooner.
func (s *supply) ended(d event.Done, k *Known) {
	a := d.Action
	under := slices.ContainsFunc(s.targets, func(t Target) bool { return k.request(t).Busy > 0 })
	if !s.running || under || !slices.Contains(s.targets, TargetOf(a)) {
		return
	}
	if s.running = false; d.Cancelled {
		s.next = s.began.Add(s.pace.Again())
		return
	}
	pools := k.filling()
	s.pace.Due, s.pace.Measured = s.due(pools)
	s.pace.Dense, s.pace.Near, s.pace.Soon = a.Op == event.OpGetPool, tuning.NearList, tuning.SoonMany
	few := len(pools) <= tuning.BurstPools
	if few {
		s.pace.Soon = tuning.Soon
	}
	if s.pace.Dense || few && a.Op == event.OpListPools && s.nodes > tuning.FewNodes {
		s.pace.Near = tuning.NearRead
	}
	s.next = s.began.Add(s.pace.Next(k.now, min(s.nodes, k.View().Coming()), k.cfg.RetryDelay))
}

// filling returns our pools that nodes are on their way to.
func (k *Known) filling() (pools []*Pool) {
	for _, p := range k.pools.rows {
		if p.Ours() && len(p.coming) > 0 {
			pools = append(pools, p)
		}
	}
	return pools
}

// due is the time before which none of the last nodes came, of the instance types that the pools have. It is unknown if one of these types
// has not been measured.
func (s *supply) due(pools []*Pool) (due time.Duration, known bool) {
	for _, p := range pools {
		last := s.usual[p.rec.Value.InstanceType]
		if len(last) == 0 {
			return 0, false
		}
		for _, t := range last {
			if !known || t.unseen < due {
				due, known = t.unseen, true
			}
		}
	}
	return due, known
}
