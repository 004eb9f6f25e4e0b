package decide

import (
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// sweeper collects what nothing needs.
type sweeper struct {
	*reader
	remove *remover
}

// orphanNodes are the instances that nothing needs, for the caller to agree.
func (w *sweeper) orphanNodes(alive []claims.Claimant) []lkepool.Node {
	exists := w.existing(alive)
	var nodes []lkepool.Node
	for _, n := range w.known.Nodes.Rows {
		if w.orphan(n, exists) {
			nodes = append(nodes, w.known.Describe(n))
		}
	}
	return nodes
}

// existing returns a test for claimants that exist, or wait.
func (w *sweeper) existing(alive []claims.Claimant) func(claims.ClaimID) bool {
	byValue := map[string][]claims.ClaimID{}
	for _, claimant := range alive {
		byValue[w.known.Tags.Value(claimant.Name)] = append(byValue[w.known.Tags.Value(claimant.Name)], w.known.Tags.ID(claimant))
	}
	return func(who claims.ClaimID) bool {
		return slices.ContainsFunc(byValue[who.Value], who.Is) || w.callers.Of(who) != nil
	}
}

// orphan reports whether an instance may be collected: it is without a
// claimant, or its claimant does not exist or has another one, and has been so
// for longer than OrphanTTL as this process saw it.
func (w *sweeper) orphan(n *belief.Node, exists func(claims.ClaimID) bool) bool {
	if !w.known.Owned(n) || !n.Known() || n.Leaves() {
		return false
	}
	switch {
	case n.Claimed():
		return !n.Written() && w.needless(n, exists) && !w.holds(n)
	case n.Claim.Who.None():
		return w.ready(w.lateShown()) && w.old(belief.Latest(n.Evidence.First, n.Claim.At)) &&
			w.surplus(n) && !w.holds(n)
	}
	return false
}

// needless reports whether the claimant of an instance does not exist, or has another one.
func (w *sweeper) needless(n *belief.Node, exists func(claims.ClaimID) bool) bool {
	if !exists(n.Claim.Who) {
		return w.old(n.Claim.Since)
	}
	kept := w.holder(n.Claim.Who)
	return kept != nil && kept != n && w.old(n.Claim.Since) && w.old(kept.Claim.Since) && w.keeps(kept, n)
}

// keeps reports whether the process after this one would keep the same instance of two with
// one claim. Without records of the caller's that has the tags alone, so the one that is kept
// gets a later time in its own before the other one goes.
func (w *sweeper) keeps(kept, n *belief.Node) bool {
	if w.cfg.Records != nil || kept.Outranks(n) {
		return true
	}
	kept.Claim.Follow(n.Claim.ClaimedAt)
	return false
}

// old reports whether a time is OrphanTTL ago.
func (w *sweeper) old(since time.Time) bool { return w.now.Sub(since) > w.cfg.OrphanTTL }

// holds reports whether the caller's own records give the instance to a claimant.
func (w *sweeper) holds(n *belief.Node) bool {
	if w.cfg.Records == nil {
		return false
	}
	_, ok := w.cfg.Records.Holder(n.ID)
	return ok
}

// surplus reports whether a free instance is beyond what claimants of its key
// want, those included that left lately and will return. What cannot be handed
// out, as in a pool that was edited, serves none of them.
func (w *sweeper) surplus(n *belief.Node) bool {
	p, known := w.known.Pools.Get(n.Home)
	if !known || w.known.Health(n) != claims.Healthy || w.known.Quarantined(n) && w.now.Sub(n.Evidence.First) > w.cfg.PendingTimeout {
		return true
	}
	hash, wanted, before := p.KeyHash(), 0, 0
	var key lkepool.Key
	for _, claim := range w.callers.Claims {
		if claim.Hash == hash && w.preferred(claim.ID) == nil {
			key = claim.Request.Key
			wanted++
		}
	}
	if wanted == 0 {
		return true
	}
	usable, _ := w.known.PoolsOf(key, hash)
	if !slices.Contains(usable, p) {
		return true
	}
	for _, q := range usable {
		for _, other := range w.known.Members(q.ID) {
			if w.known.IsFree(other) && handOut(other, n) < 0 {
				before++
			}
		}
	}
	return before >= wanted
}

// evict removes the instances that the caller agreed to, as far as they are
// still orphans, and then what pools have left over.
func (w *sweeper) evict(r *callers.Request) (claims.Collected, bool, error) {
	s := &r.Sweep
	if !s.Begun {
		*s = callers.Sweep{Begun: true, Left: slices.Clone(r.Ask.Orphans), Slots: map[string]bool{}, Vacated: map[int]bool{}}
	}
	exists := w.existing(r.Ask.Alive)
	s.Left = slices.DeleteFunc(s.Left, func(id int) bool { return w.evictNode(r, id, exists) })
	if len(s.Left) > 0 || !w.tidy(r) {
		return claims.Collected{}, false, nil
	}
	return s.Collected, true, errors.Join(s.Errs...)
}

// evictNode goes on with one orphan, and reports whether that has ended.
func (w *sweeper) evictNode(r *callers.Request, id int, exists func(claims.ClaimID) bool) bool {
	s := &r.Sweep
	n, known := w.known.Nodes.Get(id)
	if !known {
		return true
	}
	if !n.Removed.IsZero() && !n.Removed.Before(r.Since) {
		pool := 0
		if p, kept := w.known.Pools.Get(n.Home); !kept || !p.Removed.IsZero() {
			pool = n.Home // it went with its last node
		}
		s.Collect(pool, nil, w.known.Describe(n).Node)
		return true
	}
	if n.Removal.Busy {
		return false
	}
	if !w.orphan(n, exists) {
		return true
	}
	// The object itself is read right before; what it shows is in the world then.
	if !w.seenLately(n.Direct) {
		if !n.Direct.Began.Before(r.Since) && !n.Direct.Agrees {
			return true // a 404 is proof when the next sweep reads another
		}
		w.readNode(n, "look before collecting")
		ended, err := w.readFailed(n.Direct, r.Since)
		s.Fail(err)
		return ended
	}
	ended, err := w.remove.remove(n, r.Since, "collected: no claimant")
	s.Fail(err)
	return ended && (err != nil || n.Removed.Before(r.Since)) // one that was accepted since is noted above
}

// tidy removes, by name, slots that have been without an instance for longer
// than PendingTimeout, and pools without nodes. It reports whether it has ended.
func (w *sweeper) tidy(r *callers.Request) bool {
	all := true
	for _, p := range slices.Clone(w.known.Pools.Rows) {
		if p.Ours() && !r.Sweep.Vacated[p.ID] {
			r.Sweep.Vacated[p.ID] = w.tidyPool(r, p)
			all = all && r.Sweep.Vacated[p.ID]
		}
	}
	return all
}

func (w *sweeper) tidyPool(r *callers.Request, p *belief.Pool) bool {
	s := &r.Sweep
	empty := p.Count == 0 && len(p.KnownSlots) == 0
	slots := w.overdueSlots(p)
	switch {
	case p.Writes.Dropping || p.Writes.Removing > 0 || p.Writes.Growing():
		return false
	case p.Phase >= belief.Doomed:
		w.remove.dropAgain(p)
		return !p.Writes.Dropping
	case !empty && len(slots) == 0, w.settling(), w.inherited(p), !p.Writes.Retry.Until.Before(r.Since):
		return true
	case !w.remove.readForRemoval(p, r.Since, "look before removing what no instance has taken"):
		ended, err := w.readFailed(p.Direct, r.Since)
		s.Fail(err)
		return ended
	case empty || p.Count == 1 && len(p.KnownSlots) == 1 && len(w.known.Members(p.ID)) == 0:
		return w.dropEmpty(s, p, slots)
	case p.Count > 1 && !s.Slots[slots[0]]:
		s.Slots[slots[0]] = true
		s.Collect(0, slots[:1])
		w.do(event.Action{Op: event.OpRemove, PoolID: p.ID, NodeID: slots[0], Reason: "no instance has come to this slot"})
		return false
	}
	return true
}

// dropEmpty deletes a pool without nodes, and reports whether that is left out.
func (w *sweeper) dropEmpty(s *callers.Sweep, p *belief.Pool, slots []string) bool {
	if w.wanted(p) || !p.Direct.Agrees {
		return true
	}
	s.Collect(p.ID, slots)
	w.do(event.Action{Op: event.OpDrop, PoolID: p.ID, Reason: "no node is left in it"})
	return false
}

// overdueSlots are the node IDs of slots that no instance has taken. While
// the pool does not list one of its instances, which has then taken one of
// them, there are none: nothing shows which.
func (w *sweeper) overdueSlots(p *belief.Pool) []string {
	if slices.ContainsFunc(w.known.Members(p.ID), func(n *belief.Node) bool { return n.Slot == "" }) {
		return nil
	}
	var slots []string
	for _, s := range p.KnownSlots {
		if s.InstanceID == 0 && !s.Vacant.IsZero() && w.now.Sub(s.Vacant) > w.cfg.PendingTimeout {
			slots = append(slots, s.NodeID)
		}
	}
	return slots
}
