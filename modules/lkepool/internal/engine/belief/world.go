package belief

import (
	"cmp"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// world holds the facts about the cluster: its nodes and pools.
type world struct {
	Nodes table[*Node]
	Pools table[*Pool]
	// Absent are the nodes and pools without a record of their own.
	Absent absent
	Index  index
}

// GoneNode reports whether an instance is proven gone.
func (w *world) GoneNode(id int) bool {
	t, known := w.Absent.Nodes.Get(id)
	return known && t.Gone()
}

// Members are the nodes that hold the pool's slots.
func (w *world) Members(poolID int) []*Node {
	var members []*Node
	for _, n := range w.homed(poolID) {
		if n.Present() {
			members = append(members, n)
		}
	}
	return members
}

// homed returns the nodes that belong to a pool.
func (w *world) homed(poolID int) []*Node {
	if w.Index.byHome == nil {
		w.Index.byHome = map[int][]*Node{}
		for _, n := range w.Nodes.Rows {
			w.Index.byHome[n.Home] = append(w.Index.byHome[n.Home], n)
		}
	}
	return w.Index.byHome[poolID]
}

// NodesOf returns the nodes that may carry a claim with this value.
func (w *world) NodesOf(value string) []*Node {
	indexed, found := w.Index.ByClaim[value]
	if !found {
		return nil
	}
	nodes := slices.DeleteFunc(indexed, func(n *Node) bool {
		current, known := w.Nodes.Get(n.ID)
		return !known || current != n || n.Claim.Who.Value != value
	})
	if len(nodes) == 0 {
		delete(w.Index.ByClaim, value)
		return nil
	}
	w.Index.ByClaim[value] = nodes
	return nodes
}

// Holder returns the node of a claimant, nil if it has none: of several the one
// of the key that it requests, because tags may be copied, then the one that this
// process wrote, then the one claimed later, then the lower ID.
func (w *world) Holder(who claims.ClaimID, hash string) *Node {
	var best *Node
	bestFits := false
	for _, n := range w.NodesOf(who.Value) {
		p, known := w.Pools.Get(n.Home)
		if !n.Holds(who) || known && !p.Ours() {
			continue
		}
		fits := hash == "" || !known || p.KeyHash() == hash
		if best == nil || fits && !bestFits || fits == bestFits && prefer(n, best) {
			best, bestFits = n, fits
		}
	}
	return best
}

// prefer orders two nodes of one claimant. A claimant that had stored the
// answer about the one claimed earlier would not have called again.
func prefer(a, b *Node) bool {
	switch {
	case a.Claim.given != b.Claim.given:
		return a.Claim.given
	case a.Claim.Own() != b.Claim.Own():
		return a.Claim.Own()
	}
	return a.Outranks(b)
}

// Outranks reports whether a process that knows no more than the tags of two nodes of one
// claimant keeps this one.
func (n *Node) Outranks(other *Node) bool {
	if !n.Claim.ClaimedAt.Equal(other.Claim.ClaimedAt) {
		return n.Claim.ClaimedAt.After(other.Claim.ClaimedAt)
	}
	return n.ID < other.ID
}

// PoolsOf are the pools of a key that can be used, and how many cannot because
// they were edited.
func (w *world) PoolsOf(key lkepool.Key, hash string) (usable []*Pool, edited int) {
	for _, p := range w.Pools.Rows {
		switch {
		case !p.Ours() || p.KeyHash() != hash || p.Phase >= Doomed:
		case p.fits(key):
			usable = append(usable, p)
		default:
			edited++
		}
	}
	return usable, edited
}

// index finds nodes and claims without going through all of them: an event costs
// what it changes. Entries may be outdated, so each user compares what it finds;
// missing entries would be errors.
type index struct {
	// ByClaim are the nodes on which a claim with this value is or was, in the order
	// of their IDs.
	ByClaim map[string][]*Node
	// byHome are the nodes that belong to a pool, in the order of their IDs; nil after
	// one has moved.
	byHome map[int][]*Node
}

func newIndex() index { return index{ByClaim: map[string][]*Node{}} }

// claimed notes that a claimant's name was put on a node.
func (x *index) claimed(n *Node) {
	value := n.Claim.Who.Value
	nodes := x.ByClaim[value]
	at, known := slices.BinarySearchFunc(nodes, n.ID, func(other *Node, id int) int { return cmp.Compare(other.ID, id) })
	switch {
	case known:
		nodes[at] = n
	default:
		x.ByClaim[value] = slices.Insert(nodes, at, n)
	}
}

// moved notes that a node belongs to another pool, or is new or gone.
func (x *index) moved() { x.byHome = nil }

// unresolved reports whether a removal of a node of the pool was not answered with
// success, and may take effect yet.
func (w *world) unresolved(p *Pool) bool {
	return slices.ContainsFunc(w.Members(p.ID), func(n *Node) bool { return n.Phase == Condemned && n.Removed.IsZero() })
}

// Owns reports whether a pool was made by this engine, and whether that is known.
func (w *world) Owns(poolID int) (owned, known bool) {
	if t, absent := w.Absent.Pools.Get(poolID); absent && t.Gone() && t.seen() { // foreign ones are forgotten at once
		return true, true
	}
	p, known := w.Pools.Get(poolID)
	return known && p.Ours(), known
}

// PoolOf returns the pool of an instance, 0 if none is known.
func (w *world) PoolOf(instanceID int) int {
	if n, known := w.Nodes.Get(instanceID); known {
		return n.Home
	}
	return 0
}
