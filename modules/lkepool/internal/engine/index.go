package engine

import (
	"cmp"
	"slices"
)

// index finds nodes and claims without going through all of them: an event costs
// what it changes. Entries may be outdated, so each user compares what it finds;
// missing entries would be errors.
type index struct {
	// byClaim are the nodes on which a claim with this value is or was, in the order
	// of their IDs.
	byClaim map[string][]*node
	// byHome are the nodes that belong to a pool, in the order of their IDs; nil after
	// one has moved.
	byHome map[int][]*node
	// waiting are the claims with this value.
	waiting map[string][]*claim
}

func newIndex() index { return index{byClaim: map[string][]*node{}, waiting: map[string][]*claim{}} }

// claimed notes that a claimant's name was put on a node.
func (x *index) claimed(n *node) {
	value := n.claim.who.Value
	nodes := x.byClaim[value]
	at, known := slices.BinarySearchFunc(nodes, n.ID, func(other *node, id int) int { return cmp.Compare(other.ID, id) })
	switch {
	case known:
		nodes[at] = n
	default:
		x.byClaim[value] = slices.Insert(nodes, at, n)
	}
}

// nodesOf returns the nodes that may carry a claim with this value.
func (w *world) nodesOf(value string) []*node {
	nodes := slices.DeleteFunc(w.index.byClaim[value], func(n *node) bool {
		current, known := w.nodes.get(n.ID)
		return !known || current != n || n.claim.who.Value != value
	})
	if len(nodes) == 0 {
		delete(w.index.byClaim, value)
		return nil
	}
	w.index.byClaim[value] = nodes
	return nodes
}

// moved notes that a node belongs to another pool, or is new or gone.
func (x *index) moved() { x.byHome = nil }

// homed returns the nodes that belong to a pool.
func (w *world) homed(poolID int) []*node {
	if w.index.byHome == nil {
		w.index.byHome = map[int][]*node{}
		for _, n := range w.nodes.rows {
			w.index.byHome[n.home] = append(w.index.byHome[n.home], n)
		}
	}
	return w.index.byHome[poolID]
}

// admit notes a claim.
func (w *world) admit(c *claim) {
	w.claims = append(w.claims, c)
	w.index.waiting[c.id.Value] = append(w.index.waiting[c.id.Value], c)
}

// forgetClaims drops the claims that drop returns true for.
func (w *world) forgetClaims(drop func(*claim) bool) {
	w.claims = slices.DeleteFunc(w.claims, func(c *claim) bool {
		if !drop(c) {
			return false
		}
		value := c.id.Value
		w.index.waiting[value] = slices.DeleteFunc(w.index.waiting[value], func(other *claim) bool { return other == c })
		if len(w.index.waiting[value]) == 0 {
			delete(w.index.waiting, value)
		}
		return true
	})
}
