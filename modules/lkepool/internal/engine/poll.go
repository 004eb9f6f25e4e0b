package engine

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// polls are the reads for nodes that are on their way, for all keys together.
type polls struct {
	running  bool
	at, next time.Time
	// pools are read one by one; none means that a list is read.
	pools []*pool
	// again is when the first full reading of this leadership was found not to be
	// complete, so that another one is made.
	again time.Time
	pace  plan.Pace
}

// firstRead is how long after a purchase the first look for it is.
func (c *Core) firstRead() time.Duration { return min(c.cfg.RetryDelay, firstReadAfter) }

// onTheirWay counts the nodes that are, also those whose claimants are between
// two calls: otherwise each that comes back would look like a new purchase.
func (c *Core) onTheirWay() int {
	n := 0
	for _, p := range c.world.pools.rows {
		n += c.onTheirWayIn(p)
	}
	return n
}

func (c *Core) onTheirWayIn(p *pool) int {
	if !p.ours() || p.writes.condemned {
		return 0
	}
	p.expect(max(0, p.Count-len(c.world.members(p.ID))-p.lost()), c.now)
	return len(p.pending) - p.overdue(c.now, c.cfg.PendingTimeout)
}

// watch reads whether capacity has arrived, at growing distances.
func (c *Core) watch(pending int) {
	if pending == 0 {
		c.polls.running = false
		return
	}
	if c.polls.running && c.polled() {
		c.polls.running = false
		// Reads of one pool are less scarce than lists.
		c.polls.pace.Dense, c.polls.pace.Near = len(c.polls.pools) > 0, nearList
		if c.polls.pace.Dense {
			c.polls.pace.Near = nearRead
		}
		c.polls.next = c.polls.at.Add(c.polls.pace.Next(c.now, pending, c.cfg.RetryDelay))
	}
	if c.polls.running || !c.ready(c.polls.next) {
		return
	}
	c.polls.running, c.polls.at, c.polls.pools = true, c.now, nil
	if c.limits.NodesLag {
		c.fresh(&c.instances, OpListInstances, c.now, "nodes are on their way")
		return
	}
	for _, p := range c.world.pools.rows {
		if c.onTheirWayIn(p) > 0 {
			c.polls.pools = append(c.polls.pools, p)
		}
	}
	if len(c.polls.pools) > directPolls {
		c.polls.pools = nil
		c.fresh(&c.pools, OpListPools, c.now, "nodes are on their way")
	}
	for _, p := range c.polls.pools {
		c.readPool(p, "nodes are on their way")
	}
}

// polled reports whether the running poll has ended.
func (c *Core) polled() bool {
	if c.limits.NodesLag {
		return !c.instances.busy
	}
	if len(c.polls.pools) == 0 {
		return !c.pools.busy
	}
	return !slices.ContainsFunc(c.polls.pools, func(p *pool) bool { return p.direct.busy })
}
