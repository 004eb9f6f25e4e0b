package instances

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// listTask performs a call of List, which also begins a sweep.
type listTask struct {
	began time.Time
	seq   int
}

func (t *listTask) begin(c *core) { t.began, t.seq = c.now, c.seq }

func (t *listTask) ended(*core) {}

func (t *listTask) leave(_ *core, cause error) answer {
	return answer{err: fail(claims.KindUnavailable, "list", 0, "no answer yet: %w", cause)}
}

// next lists, and reads the instances that the list lacks although it must show them.
func (t *listTask) next(c *core) step {
	if s := c.list(t.began, t.seq, "a caller lists"); !s.none() {
		return s
	}
	var pending step
	for _, o := range c.world.sorted() {
		known := latest(o.read, o.made, o.tagged, o.listed)
		if !o.listed.Before(c.listing.began) || c.listing.began.Sub(known) <= listLag {
			continue
		}
		if l := c.directReads[o.InstanceID]; l != nil && !l.missing.Before(t.began) && !l.running {
			continue // it answered 404 once: the next list reads it again
		}
		_, s := c.readDirectly(o.InstanceID, t.began, t.seq, "the list lacks it")
		switch {
		case s.effect != nil || s.end != nil:
			return s
		case s.wait:
			pending = s
		}
	}
	if pending.wait {
		return pending
	}
	var all []Instance
	for _, o := range c.world.sorted() {
		all = append(all, c.view(o))
	}
	return end(answer{instances: all})
}

// orphans returns the instances that have been unneeded for OrphanTTL. It also
// records when each one became unneeded.
func (c *core) orphans(alive []claims.ClaimID) []claims.Node {
	var orphans []claims.Node
	for _, o := range c.world.sorted() {
		if !c.unneeded(o, alive) {
			o.orphan = time.Time{}
			continue
		}
		if o.orphan.IsZero() {
			o.orphan = c.now
		}
		if c.now.Sub(o.orphan) >= c.cfg.OrphanTTL {
			orphans = append(orphans, c.view(o).Node)
		}
	}
	return orphans
}

// unneeded reports whether no existing claimant needs the instance, because it has
// none or is served by another instance.
func (c *core) unneeded(o *object, alive []claims.ClaimID) bool {
	exists := func(who claims.ClaimID) bool { return slices.ContainsFunc(alive, who.Is) }
	if c.awaited(o.who) || c.disputed(o) {
		return false
	}
	if holder, held := c.holder(o.InstanceID); held && exists(holder) {
		return false
	}
	switch {
	case !exists(o.who):
		return true
	case c.cfg.own.isUnfinished(o.Tags):
		return c.now.Sub(o.first) > c.cfg.FinishTimeout
	}
	return c.has(o.who)[0] != o
}

// awaited reports whether a caller waits for the claimant's instance.
func (c *core) awaited(who claims.ClaimID) bool {
	for id, cl := range c.claims {
		if id.Is(who) && (cl.callers > 0 || cl.busy) {
			return true
		}
	}
	return false
}

// strippedOf returns the instances of existing claimants that lost their claim's tags.
func (c *core) strippedOf(alive []claims.ClaimID) []int {
	var ids []int
	for _, o := range c.world.sorted() {
		if c.stripped(o) && o.accepted.IsZero() && slices.ContainsFunc(alive, o.who.Is) {
			ids = append(ids, o.InstanceID)
		}
	}
	return ids
}
