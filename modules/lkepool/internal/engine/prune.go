package engine

import (
	"maps"
	"slices"
	"time"
)

// pruneNodes forgets, after a list of instances that began then, what nothing refers
// to any more: the world is as large as the cluster.
func (c *Core) pruneNodes(began time.Time) {
	maps.DeleteFunc(c.world.goneNodes, func(_ int, end ended) bool { return began.Sub(latest(end.at, end.shown)) > goneMemory })
	for _, n := range slices.Clone(c.world.nodes.rows) {
		lacks := !n.absence.lacks.IsZero() && !n.direct.busy
		switch removed := n.removal.accepted; {
		case lacks && n.claim.state == free && !c.owned(n):
			c.world.nodes.drop(n.ID) // of another owner
			c.world.index.moved()
		case lacks && !removed.IsZero() && n.absence.lacks.Sub(removed) > goneMemory && n.absence.lacks.Sub(n.last) > goneMemory:
			c.forgetNode(n)
		}
	}
	for value := range c.world.index.byClaim {
		c.world.nodesOf(value)
	}
}

// prunePools does the same after a list of pools.
func (c *Core) prunePools(began time.Time) {
	maps.DeleteFunc(c.world.gonePools, func(_ int, at time.Time) bool { return began.Sub(at) > goneMemory })
	used := map[int]bool{}
	for _, n := range c.world.nodes.rows {
		used[n.home] = true
	}
	for _, id := range slices.Clone(c.world.named.ids) {
		if named, _ := c.world.named.get(id); !used[id] && !named.direct.busy {
			c.world.named.drop(id)
		}
	}
	hashes := map[string]bool{}
	for _, p := range c.world.pools.rows {
		hashes[p.keyHash()] = true
	}
	for _, claim := range c.world.claims {
		hashes[claim.hash] = true
	}
	maps.DeleteFunc(c.keys, func(hash string, k *keyState) bool {
		return !hashes[hash] && k.creating == 0 && k.joins.InARow == 0 && c.now.Sub(latest(k.notBefore, k.retry.until)) > goneMemory
	})
}
