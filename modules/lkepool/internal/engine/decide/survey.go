package decide

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// surveyor chooses the full readings that everything else rests on.
type surveyor struct {
	*reader
	// again is when the first full reading of this leadership was found not to be
	// complete, so that another one is made.
	again time.Time
}

// informed reports whether enough was read to hand out or buy anything.
func (s *surveyor) informed(demands []*demand) bool {
	if s.settling() {
		return false
	}
	if !s.surveyed(belief.Latest(s.known.StartedAt.Add(s.cfg.SettleTime), s.now.Add(-tuning.FullReadEvery)), "claimants wait") {
		s.refuseUnread(demands)
		return false
	}
	return s.complete()
}

// complete reports whether the first full reading of this leadership can be
// relied on for who has a node. If it shows itself that something was left out,
// both lists are read again.
func (s *surveyor) complete() bool {
	if s.again.IsZero() {
		s.again = s.known.StartedAt
		if s.leftOut() {
			s.again = s.now
		}
	}
	return s.surveyed(s.again, "the first lists are not complete")
}

// leftOut reports whether a list was empty, pools have more slots than instances
// were shown, or instances are of no pool that was shown, or in no list, although a
// pool names them: any of those left out may have a claimant.
func (s *surveyor) leftOut() bool {
	pools, nodes := s.known.Pools.Rows, s.known.Nodes.Rows
	return len(pools) == 0 || len(nodes) == 0 || slices.ContainsFunc(pools, func(p *belief.Pool) bool {
		return p.Ours() && p.Writes.Grown.IsZero() && p.Count > len(s.known.Members(p.ID))
	}) || slices.ContainsFunc(nodes, func(n *belief.Node) bool {
		_, known := s.known.Pools.Get(n.Home)
		return !known && !n.Evidence.Last.IsZero() && !n.Foreign && !n.Leaves() || known && n.Present() && !n.Known()
	})
}

// refuseUnread answers all claimants with the reason why the lists cannot be read, if waiting
// does not help.
func (s *surveyor) refuseUnread(demands []*demand) {
	err := s.known.PoolList.Err
	if !belief.Lasting(err) {
		err = s.known.InstanceList.Err
	}
	if !belief.Lasting(err) {
		return
	}
	s.known.Reported()
	for _, d := range demands {
		s.refuse(d.waiting, err)
	}
}

// identify reads the instances and pools that are known by their ID alone: any such
// pool may be of any key, and any such instance may have a claimant of its pool's key.
// It reports whether the first are none, and returns the keys of the second.
func (s *surveyor) identify() (all bool, unread map[string]bool) {
	all, unread = true, map[string]bool{}
	for _, n := range s.known.Nodes.Rows {
		p, ok := s.known.Pools.Get(n.Home)
		switch {
		case !n.Present() || n.Foreign:
		case !ok:
			all = s.located(n.Home) && all
		case p.Ours() && !n.Known():
			if s.awaited(n) {
				unread[p.KeyHash()] = true
			}
			if !s.limits.NodesLag || s.ready(n.Evidence.First.Add(tuning.VerifyAgain)) { // by then the next list shows it
				s.readNode(n, "only its ID is known")
			}
		}
	}
	return all, unread
}

// awaited reports whether an instance that is known by its ID alone may still turn out
// to be of one of those that wait. If reads of it fail again and again, it is passed over
// after UnreadGrace.
func (s *surveyor) awaited(n *belief.Node) bool {
	return !n.Direct.Failing() || !s.ready(n.Direct.Retry.Since.Add(tuning.UnreadGrace))
}
