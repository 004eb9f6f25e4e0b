package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// doubt is a creation that was not answered: its nodes count for the ceilings until
// a pool of its key shows up, or until a list would have to show one.
type doubt struct {
	hash, instanceType string
	nodes              int
	// until is how long the pool may be missing from a list.
	until time.Time
}

// doubt notes a creation that was not answered.
func (c *Core) doubt(a Action) {
	c.doubts = append(c.doubts, doubt{
		hash: a.Key.Hash(), instanceType: a.Key.InstanceType, nodes: a.Bought, until: c.now.Add(c.cfg.LateEffect + listLag),
	})
}

// foundPool ends one doubt about a key of which a list shows a new pool that is not
// that of a creation under way.
func (c *Core) foundPool(reading lkepool.Pool) {
	hash := c.tags.keyHash(reading.Tags)
	if hash == "" || c.keyed(hash).creating > 0 {
		return
	}
	at := slices.IndexFunc(c.doubts, func(d doubt) bool { return d.hash == hash && d.nodes == reading.Count })
	if at < 0 {
		at = slices.IndexFunc(c.doubts, func(d doubt) bool { return d.hash == hash })
	}
	if at >= 0 {
		c.doubts = slices.Delete(c.doubts, at, at+1)
	}
}

// counted reports whether all nodes are known that the ceilings bound, those
// included that the process before has bought, or may still buy.
func (c *Core) counted() bool {
	if c.cfg.Ceilings.MaxNodes == 0 && c.cfg.Ceilings.MaxHourlyPrice == 0 {
		return true
	}
	since := c.lateUntil.Add(listLag)
	return c.ready(since) && c.fresh(&c.pools, OpListPools, since, "the ceilings count what lists may not show yet")
}

// owning counts the nodes of each instance type that our pools have, those included
// that purchases under way or without an answer may add.
func (c *Core) owning() map[string]int {
	owned := maps.Clone(c.buying)
	for _, p := range c.world.pools.rows {
		if p.ours() {
			owned[p.InstanceType] += max(p.Count, p.writes.frozen.count)
		}
	}
	c.doubts = slices.DeleteFunc(c.doubts, func(d doubt) bool { return !c.pools.began.Before(d.until) })
	for _, d := range c.doubts {
		owned[d.instanceType] += d.nodes
	}
	return owned
}
