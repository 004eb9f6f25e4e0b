package decide

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// demand holds the claimants of one key that wait, and the pools and nodes that can serve them.
type demand struct {
	key   lkepool.Key
	state *belief.KeyState
	// waiting have no node, in the order of their first calls.
	waiting []*callers.Claim
	pools   []*belief.Pool
	edited  int
	// free may be handed out; pending counts the nodes that are on their way,
	// overdue those that have been for too long.
	free []*belief.Node
	// quarantined are those that could not be claimed.
	quarantined []*belief.Node
	// soon are free as far as is known, and are tried again after a pause.
	pending, overdue, soon int
	// covered are those that a purchase of this turn is for, be it that its pool is read before.
	covered int
	// unread may be free or not: reading them fails.
	unread int
	// unclear: what the pools hold has to be read first.
	unclear bool
}

// unserved are the claimants for which nothing is on its way.
func (d *demand) unserved() []*callers.Claim {
	return slices.Clone(d.waiting[min(len(d.waiting), len(d.free)+d.soon+d.pending+d.covered):])
}

// supplier finds out what there is for the demands.
type supplier struct{ *reader }

// supply finds out what there is for a key.
func (s *supplier) supply(d *demand) {
	d.pools, d.edited = s.known.PoolsOf(d.key, d.waiting[0].Hash)
	for _, p := range d.pools {
		s.supplyOf(d, p)
	}
	if len(d.quarantined) >= tuning.QuarantineLimit || claims.KindOf(s.known.Marks.Err) == claims.KindForbidden {
		// Another one would be no better.
		for _, n := range d.quarantined {
			if s.ready(belief.Latest(n.Direct.Retry.Until, n.Claim.Retry.Until)) {
				d.free = append(d.free, n)
			} else {
				d.soon++
			}
		}
	}
	slices.SortFunc(d.free, handOut)
}

func (s *supplier) supplyOf(d *demand, p *belief.Pool) {
	members := s.known.Members(p.ID)
	members = slices.DeleteFunc(members, func(n *belief.Node) bool {
		if n.Evidence.Twice() {
			s.prove(n)
		}
		return n.Evidence.Twice()
	})
	pending := s.known.Expected(p)
	overdue := p.Overdue(s.now, s.cfg.PendingTimeout)
	d.pending, d.overdue = d.pending+pending-overdue, d.overdue+overdue
	for _, since := range p.Pending {
		s.at(since.Add(s.cfg.PendingTimeout + time.Second))
	}
	switch {
	case p.Writes.Dropping:
		// What arrives in it meanwhile goes with it.
		d.unclear = true
		return
	case p.Writes.Growing():
		d.unclear = true
	case p.Doubtful():
		d.unclear = true
		s.verifyPool(p, "a list contradicts what is known of the pool")
		return
	case !p.Writes.Unsure.IsZero():
		d.unclear = true
		if s.ready(p.Writes.Unsure.Add(s.cfg.SettleTime)) {
			s.readPool(p, "a write to the pool was not answered")
		}
	case len(members) > p.Count:
		if s.settle(p, members) {
			d.unclear = true
			return
		}
	case !p.Contested.IsZero():
		d.unclear = true
		// An own write outranks a read that begins sooner after it: that one would settle nothing.
		last := belief.Latest(p.Direct.Ended, belief.Latest(p.Writes.Grown, p.Writes.Shrunk))
		if s.ready(belief.Latest(p.Contested, last.Add(s.cfg.SettleTime))) {
			s.readPool(p, "the last reading lacks what was shown just before")
		}
	}
	for _, n := range members {
		s.supplyNode(d, p, n)
	}
}

// supplyNode finds out whether a member of a pool can be handed out.
func (s *supplier) supplyNode(d *demand, p *belief.Pool, n *belief.Node) {
	switch {
	case !n.Known():
		d.unread++
	case !s.known.IsFree(n):
		if n.Phase == belief.Free && s.known.Quarantined(n) {
			d.quarantined = append(d.quarantined, n)
		}
	case s.inherited(p), s.unrecorded(p, n):
		d.soon++ // the process before may still claim it, or delete its pool, or nothing shows yet that it did
	case n.Evidence.Begun():
		d.soon++
		s.prove(n)
	case s.now.Before(belief.Latest(n.Direct.Retry.Until, n.Claim.Retry.Until)):
		d.soon++
		s.at(belief.Latest(n.Direct.Retry.Until, n.Claim.Retry.Until))
	default:
		d.free = append(d.free, n)
	}
}

// settle looks at a pool with more members than its count: one of them is gone,
// or about to go. It reports whether that is still to be waited for; then they are handed
// out, each after a look, because one that cannot be read must not make the others useless.
func (s *supplier) settle(p *belief.Pool, members []*belief.Node) bool {
	since := p.Overfull(s.now)
	if s.now.Sub(since) > tuning.UnsettledGrace {
		return false
	}
	s.at(since.Add(tuning.UnsettledGrace + time.Second))
	if s.ready(p.Direct.Ended.Add(s.cfg.SettleTime)) {
		s.readPool(p, "the pool has more members than its count")
	}
	for _, n := range members {
		read := belief.Latest(n.Direct.Ended, n.Evidence.Since())
		if (n.Evidence.Last.Before(s.known.InstanceList.Began) || n.Slot == "") && s.ready(read.Add(s.cfg.SettleTime)) {
			s.readNode(n, "its pool has more members than its count")
		}
	}
	return true
}
