package engine

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// lists are the two that there are.
type lists struct{ pools, instances list }

// list is the state of a list of pools or of instances.
type list struct {
	// began is when the newest answered one did, tried the newest of all.
	began, tried time.Time
	busy         bool
	retry        backoff
	err          error
}

// end notes the end of a list, and reports whether it was answered.
func (l *list) end(d Done, first time.Duration, now time.Time) bool {
	l.busy = false
	if d.Cancelled {
		return false
	}
	if l.err = d.Err; d.Err != nil {
		l.retry.fail(now, first, claims.RetryAfterOf(d.Err))
		return false
	}
	l.began, l.retry = latest(l.began, d.Began), backoff{}
	return true
}

func (l *list) failedSince(t time.Time) bool { return !l.busy && l.err != nil && !l.tried.Before(t) }

// fresh reports whether a list that began at or after since was answered, and
// otherwise reads it.
func (c *Core) fresh(l *list, op Op, since time.Time, reason string) bool {
	if !l.began.IsZero() && !l.began.Before(since) {
		return true
	}
	if !l.busy && c.ready(l.retry.until) {
		l.busy, l.tried = true, c.now
		c.do(Action{Op: op, Reason: reason})
	}
	return false
}

// surveyed reports whether both lists were read since then.
func (c *Core) surveyed(since time.Time, reason string) bool {
	pools := c.fresh(&c.pools, OpListPools, since, reason)
	return c.fresh(&c.instances, OpListInstances, since, reason) && pools
}

// settling reports whether writes of an earlier process may still be invisible.
func (c *Core) settling() bool { return !c.ready(c.startedAt.Add(c.cfg.SettleTime)) }

// countReads counts the instances that are being read.
func (c *Core) countReads() {
	for _, n := range c.world.nodes.rows {
		if n.direct.busy {
			c.reading++
		}
	}
}

// readNode reads an instance directly unless one is under way or has to wait.
func (c *Core) readNode(n *node, reason string) {
	if n.direct.busy || c.reading >= parallelReads || !c.ready(n.direct.retry.until) {
		return
	}
	n.direct.busy, n.direct.tried = true, c.now
	c.reading++
	c.do(Action{Op: OpGetInstance, InstanceID: n.ID, Reason: reason})
}

func (c *Core) readPool(p *pool, reason string) {
	if p.direct.busy || !c.ready(p.direct.retry.until) {
		return
	}
	p.direct.busy, p.direct.tried = true, c.now
	c.do(Action{Op: OpGetPool, PoolID: p.ID, Reason: reason})
}

// located reads a pool that an instance names, and lists have not shown. It reports
// whether that is over: the pool is gone, or reading it fails again and again.
func (c *Core) located(id int) bool {
	if _, gone := c.world.gonePools[id]; gone {
		return true
	}
	p, known := c.world.named.get(id)
	if !known {
		p = &namedPool{}
		c.world.named.put(id, p)
	}
	p.gone = p.gone || !p.absence.second.IsZero() && !c.pools.began.Before(p.absence.second)
	switch {
	case p.gone || p.direct.busy:
	case !p.absence.second.IsZero():
		c.fresh(&c.pools, OpListPools, p.absence.second, "reads of a pool are answered 404")
	case c.ready(latest(p.direct.retry.until, p.absence.proof.Add(c.cfg.SettleTime))):
		p.direct.busy, p.direct.tried = true, c.now
		c.do(Action{Op: OpGetPool, PoolID: id, Reason: "an instance names it, and no list shows it"})
	}
	return p.gone || p.direct.failing()
}

// seenLately reports whether the last direct read is still "right before".
func (c *Core) seenLately(l directRead) bool {
	return l.agrees && !l.ended.IsZero() && c.now.Sub(l.ended) <= readValid
}

// silence returns an error about the oldest request that has had no answer for
// long, nil if there is none.
func (c *Core) silence() error {
	var oldest time.Time
	what := Op("")
	consider := func(busy bool, since time.Time, op Op) {
		if busy && c.now.Sub(since) >= silentAfter && (what == "" || since.Before(oldest)) {
			oldest, what = since, op
		}
	}
	consider(c.pools.busy, c.pools.tried, OpListPools)
	consider(c.instances.busy, c.instances.tried, OpListInstances)
	for _, claim := range c.world.claims {
		k := c.keyed(claim.hash)
		consider(k.creating > 0, k.began, OpCreate)
	}
	for _, p := range c.world.pools.rows {
		consider(p.direct.busy, p.direct.tried, OpGetPool)
		consider(p.writes.growing, p.writes.began, OpScale)
	}
	for _, p := range c.world.named.rows {
		consider(p.direct.busy, p.direct.tried, OpGetPool)
	}
	for _, n := range c.world.nodes.rows {
		consider(n.direct.busy, n.direct.tried, OpGetInstance)
		consider(n.claim.written(), n.claim.at, OpMark)
	}
	if what == "" {
		return nil
	}
	return &claims.Error{Kind: claims.KindUnavailable, Op: string(what), Err: fmt.Errorf("no answer for %s", c.now.Sub(oldest))}
}
