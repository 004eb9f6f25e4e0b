package instances

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// listTask is a call of List, and the beginning of a sweep.
type listTask struct {
	began time.Time
	seq   int
}

func (t *listTask) begin(c *core) { t.began, t.seq = c.now, c.seq }

func (t *listTask) ended(*core) {}

func (t *listTask) leave(_ *core, cause error) answer {
	return answer{err: fail(claims.KindUnavailable, "list", 0, "no answer yet: %w", cause)}
}

// next lists, and reads what the list lacks and must have by now.
func (t *listTask) next(c *core) step {
	if s := c.list(t.began, t.seq, "asked for"); !s.none() {
		return s
	}
	var pending step
	for _, o := range c.world.sorted() {
		known := latest(o.read, o.made, o.tagged, o.listed)
		if !o.listed.Before(c.survey.began) || c.survey.began.Sub(known) <= listLag {
			continue
		}
		if l := c.looks[o.InstanceID]; l != nil && !l.missing.Before(t.began) && !l.running {
			continue // it answered 404 once: the next list reads it again
		}
		_, s := c.look(o.InstanceID, t.began, t.seq, "the list lacks it")
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
		all = append(all, c.shown(o))
	}
	return end(answer{instances: all})
}

// orphans are the instances that nothing needs, and have not needed for long
// enough. It also keeps since when that is so.
func (c *core) orphans(alive []claims.ClaimID) []claims.Node {
	var orphans []claims.Node
	for _, o := range c.world.sorted() {
		if !c.needless(o, alive) {
			o.orphan = time.Time{}
			continue
		}
		if o.orphan.IsZero() {
			o.orphan = c.now
		}
		if c.now.Sub(o.orphan) >= c.cfg.OrphanTTL {
			orphans = append(orphans, c.shown(o).Node)
		}
	}
	return orphans
}

// needless reports whether no claimant that exists needs the instance, or
// another one serves it.
func (c *core) needless(o *object, alive []claims.ClaimID) bool {
	exists := func(who claims.ClaimID) bool { return slices.ContainsFunc(alive, who.Is) }
	if c.asked(o.who) || c.disputed(o) {
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

// asked reports whether a caller waits for the claimant's instance.
func (c *core) asked(who claims.ClaimID) bool {
	for id, cl := range c.claims {
		if id.Is(who) && (cl.callers > 0 || cl.busy) {
			return true
		}
	}
	return false
}

// strippedOf are the instances of claimants that exist whose tags were taken away.
func (c *core) strippedOf(alive []claims.ClaimID) []int {
	var ids []int
	for _, o := range c.world.sorted() {
		if c.stripped(o) && o.accepted.IsZero() && slices.ContainsFunc(alive, o.who.Is) {
			ids = append(ids, o.InstanceID)
		}
	}
	return ids
}
