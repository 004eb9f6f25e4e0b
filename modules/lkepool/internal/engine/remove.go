package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// release removes an instance for its claimant. It ends when the platform has
// accepted the removal, or had accepted it before.
func (c *Core) release(r *request) (bool, error) {
	n, known := c.world.nodes.get(r.ask.ID)
	if known && !n.removal.accepted.IsZero() && !n.removal.accepted.Before(r.since) {
		return true, nil
	}
	if _, home := c.world.pools.get(n.homeOrNone()); !known || !home || !n.removal.accepted.IsZero() || !n.detached.IsZero() ||
		n.claim.state == free {
		var found bool
		var err error
		if n, found, err = c.find(r); !found || err != nil {
			return found, err
		}
		if !c.home(n, r) {
			return c.pools.failedSince(r.since), c.pools.err
		}
	}
	if err := c.claimedBy(n, r.ask.By); err != nil {
		return true, err
	}
	return c.remove(n, r.since, "released by its claimant")
}

// remove takes an instance out of its pool by name. It is called until it is
// done: the removal was accepted, or an attempt since then failed.
func (c *Core) remove(n *node, since time.Time, reason string) (bool, error) {
	switch {
	case n.State == lkepool.Leaving || !n.removal.accepted.IsZero() && c.now.Sub(n.removal.accepted) < removalResend:
		return true, nil
	case n.removal.busy || c.settling():
		return false, nil
	case n.removal.err != nil && !n.removal.failed.Before(since):
		return true, n.removal.err
	case n.claim.written() || n.claim.state == reserved:
		return false, nil
	}
	p, known := c.world.pools.get(n.home)
	switch {
	case !known:
		return true, c.unlisted(n)
	case p.writes.condemned:
		c.dropAgain(p)
		return false, nil
	case p.writes.growing || p.writes.dropping || p.writes.removing >= ParallelRemovals:
		return false, nil
	case !c.readForRemoval(p, n.removal.accepted, "look before removing"):
		if !p.absence.second.IsZero() && c.pools.failedSince(since) {
			return true, c.pools.err
		}
		return c.readFailed(p.direct, since)
	case n.slot == "":
		return true, c.unlisted(n)
	}
	return c.take(p, n, reason)
}

// readForRemoval reports whether the pool was read right before. What own
// removals did to it meanwhile is known.
func (c *Core) readForRemoval(p *pool, after time.Time, reason string) bool {
	if !p.direct.ended.IsZero() && c.now.Sub(p.direct.ended) <= readValid && !p.direct.began.Before(p.writes.grown) &&
		!p.direct.began.Before(after) && p.writes.unsure.IsZero() && p.absence.proof.IsZero() {
		return true
	}
	switch {
	case !p.writes.unsure.IsZero() && !c.ready(p.writes.unsure.Add(c.cfg.SettleTime)):
	case !p.absence.proof.IsZero():
		c.verifyPool(p, "a 404 has to be answered twice")
	default:
		c.readPool(p, reason)
	}
	return false
}

// readFailed ends a request whose look failed.
func (c *Core) readFailed(l directRead, since time.Time) (bool, error) {
	if !l.busy && l.err != nil && !l.tried.Before(since) {
		return true, l.err
	}
	return false, nil
}

// unlisted is the error about an instance that no pool lists, so that there is
// no name to remove it by.
func (c *Core) unlisted(n *node) error {
	return &claims.Error{Kind: claims.KindProvisioning, Op: "remove node", Object: claims.Object("pool", n.home), Effect: claims.EffectNone,
		Err: fmt.Errorf("no pool lists instance %d, so it cannot be removed by name", n.ID)}
}

// take removes one node of a pool that was read right before, the last one with
// its pool. Never is a count lowered by number: LKE would choose who goes.
func (c *Core) take(p *pool, n *node, reason string) (bool, error) {
	switch remaining := p.Count - p.writes.removing; {
	case remaining > 1:
		n.removal.busy = true
		p.writes.removing++
		c.do(Action{Op: OpRemove, PoolID: p.ID, NodeID: n.slot, InstanceID: n.ID, Reason: reason})
		return false, nil
	case p.writes.removing > 0:
		return false, nil
	case c.last(p, n) && c.wanted(p):
		// The node goes with its pool, and what waiting claimants need will be
		// added to that pool first.
		return false, nil
	case c.inherited(p):
		return false, nil
	case !c.last(p, n) || !p.direct.agrees:
		if c.now.Sub(p.direct.ended) < verifyAgain/2 {
			c.at(p.direct.ended.Add(verifyAgain / 2))
			return false, nil
		}
		return true, &claims.Error{Kind: claims.KindProvisioning, Op: "remove node", Object: claims.Object("pool", p.ID),
			Effect: claims.EffectNone,
			Err:    fmt.Errorf("the pool has count %d and lists %d nodes; it has not settled", p.Count, len(p.slots))}
	}
	n.removal.busy, p.writes.dropping = true, true
	c.do(Action{Op: OpDrop, PoolID: p.ID, InstanceID: n.ID, Reason: reason + "; the last node goes with its pool"})
	return false, nil
}

// last reports whether the node is all that its pool has and is to have.
func (c *Core) last(p *pool, n *node) bool {
	for _, s := range p.slots {
		if other, known := c.world.nodes.get(s.InstanceID); s.InstanceID != n.ID &&
			(!known || other.removal.accepted.IsZero() || other.removal.listed) {
			return false
		}
	}
	return !slices.ContainsFunc(c.world.members(p.ID), func(other *node) bool { return other != n })
}

// finishRemovals repeats removals whose effect is not known.
func (c *Core) finishRemovals() {
	for _, p := range c.world.pools.rows {
		if p.writes.condemned {
			c.dropAgain(p)
		}
	}
	for _, n := range c.world.nodes.rows {
		r := n.removal
		if r.condemned && r.accepted.IsZero() && !r.busy && n.present() && c.ready(r.retry.until) {
			_, _ = c.remove(n, c.now, "its removal was not answered") // a failure is repeated
		}
	}
}

// dropAgain repeats the deletion of a condemned pool: at once if none was accepted,
// and otherwise if a direct read shows the pool a minute later.
func (c *Core) dropAgain(p *pool) {
	resend := p.writes.dropped.Add(removalResend)
	switch {
	case p.writes.dropping || c.settling() || !c.ready(p.writes.retry.until):
		return
	case !p.absence.proof.IsZero():
		c.verifyPool(p, "reads of a pool are answered 404")
		return
	case p.writes.dropped.IsZero():
	case !c.ready(resend):
		return
	case p.direct.began.Before(resend):
		c.readPool(p, "its deletion was accepted, and it may still be there")
		return
	}
	p.writes.dropping = true
	c.do(Action{Op: OpDrop, PoolID: p.ID, Reason: "the pool is still there after it was to be deleted"})
}

// wanted reports whether claimants wait for a node of the pool's key.
func (c *Core) wanted(p *pool) bool {
	return slices.ContainsFunc(c.world.claims, func(claim *claim) bool {
		return claim.hash == p.keyHash() && len(claim.tokens) > 0
	})
}
