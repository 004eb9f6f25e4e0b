package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// table is a map that is always read in the order of its IDs, so that the same
// events always cause the same actions.
type table[R any] struct {
	ids  []int
	rows []R
}

func (t *table[R]) get(id int) (R, bool) {
	at, ok := slices.BinarySearch(t.ids, id)
	if !ok {
		var none R
		return none, false
	}
	return t.rows[at], true
}

func (t *table[R]) put(id int, row R) {
	at, ok := slices.BinarySearch(t.ids, id)
	if ok {
		t.rows[at] = row
		return
	}
	t.ids, t.rows = slices.Insert(t.ids, at, id), slices.Insert(t.rows, at, row)
}

func (t *table[R]) drop(id int) {
	if at, ok := slices.BinarySearch(t.ids, id); ok {
		t.ids, t.rows = slices.Delete(t.ids, at, at+1), slices.Delete(t.rows, at, at+1)
	}
}

// present reports whether the node holds one of its pool's slots.
func (n *node) present() bool {
	return n.home != 0 && n.detached.IsZero() && !n.leaves()
}

// leaves reports whether the node is about to go, as far as is known.
func (n *node) leaves() bool {
	return n.State == lkepool.Leaving || !n.removal.accepted.IsZero() && !n.removal.listed
}

// homeOrNone is the pool of a node that may be unknown.
func (n *node) homeOrNone() int {
	if n == nil {
		return 0
	}
	return n.home
}

// known reports whether enough is known of the node to say who has it.
func (n *node) known() bool { return !n.tagged.IsZero() || n.arrived }

// claimed reports whether the node has a claimant, also while its tags are
// being changed.
func (n *node) claimed() bool {
	return n.claim.state == held || n.claim.state == writing && !n.claim.since.IsZero()
}

// holds reports whether the claimant has the node, and may be given it again.
func (n *node) holds(who claims.ClaimID) bool {
	return n.claimed() && n.claim.who.Is(who) && n.State != lkepool.Leaving && !n.removal.condemned
}

// members are the nodes that hold the pool's slots.
func (w *world) members(poolID int) []*node {
	var members []*node
	for _, n := range w.homed(poolID) {
		if n.present() {
			members = append(members, n)
		}
	}
	return members
}

// claimOf returns the record of a claimant, nil for one that does not want a node.
func (w *world) claimOf(who claims.ClaimID) *claim {
	for _, c := range w.index.waiting[who.Value] {
		if c.id.Is(who) {
			return c
		}
	}
	return nil
}

// holder returns the node of a claimant, nil if it has none: of several the one
// of the key that it requests, because tags may be copied, then the one that this
// process wrote, then the one claimed later, then the lower ID.
func (w *world) holder(who claims.ClaimID) *node {
	hash := ""
	if claim := w.claimOf(who); claim != nil {
		hash = claim.hash
	}
	var best *node
	bestFits := false
	for _, n := range w.nodesOf(who.Value) {
		p, known := w.pools.get(n.home)
		if !n.holds(who) || known && !p.ours() {
			continue
		}
		fits := hash == "" || !known || p.keyHash() == hash
		if best == nil || fits && !bestFits || fits == bestFits && prefer(n, best) {
			best, bestFits = n, fits
		}
	}
	return best
}

// prefer orders two nodes of one claimant. A claimant that had stored the
// answer about the one claimed earlier would not have called again.
func prefer(a, b *node) bool {
	switch {
	case a.claim.given != b.claim.given:
		return a.claim.given
	case a.claim.own != b.claim.own:
		return a.claim.own
	case !a.claim.claimedAt.Equal(b.claim.claimedAt):
		return a.claim.claimedAt.After(b.claim.claimedAt)
	}
	return a.ID < b.ID
}

// poolsOf are the pools of a key that can be used, and how many cannot because
// they were edited.
func (w *world) poolsOf(key lkepool.Key, hash string) (usable []*pool, edited int) {
	for _, p := range w.pools.rows {
		switch {
		case !p.ours() || p.keyHash() != hash || p.writes.condemned:
		case p.fits(key):
			usable = append(usable, p)
		default:
			edited++
		}
	}
	return usable, edited
}

// slot returns the pool's record of a node ID.
func (p *pool) slot(nodeID string) *slot {
	at, ok := slices.BinarySearchFunc(p.slots, nodeID, func(s slot, id string) int { return strings.Compare(s.NodeID, id) })
	if !ok {
		return nil
	}
	return &p.slots[at]
}

// expect keeps one time for each node that is on its way.
func (p *pool) expect(pending int, now time.Time) {
	for len(p.pending) < pending {
		p.pending = append(p.pending, now)
	}
	p.pending = p.pending[len(p.pending)-max(0, pending):]
}

// lost counts the slots whose instance is gone.
func (p *pool) lost() int {
	n := 0
	for _, s := range p.slots {
		if s.lost {
			n++
		}
	}
	return n
}

// overdue counts the nodes that have been on their way for too long.
func (p *pool) overdue(now time.Time, after time.Duration) int {
	n := 0
	for _, since := range p.pending {
		if now.Sub(since) > after {
			n++
		}
	}
	return n
}
