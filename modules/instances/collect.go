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
		if !o.listed.Before(c.world.list.began) || c.world.list.began.Sub(known) <= listLag {
			continue
		}
		if l := c.world.reads[o.InstanceID]; l != nil && !l.absence.Since().Before(t.began) && !l.running {
			continue // it answered 404: the next list reads it again
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
		all = append(all, c.world.view(o))
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
		if c.now.Sub(o.orphan) >= c.cfg.OrphanTTL || c.resendRemoval(o) {
			orphans = append(orphans, c.world.view(o).Node)
		}
	}
	return orphans
}

// unneeded reports whether no existing claimant needs the instance, because it has
// none or is served by another instance.
func (c *core) unneeded(o *object, alive []claims.ClaimID) bool {
	exists := func(who claims.ClaimID) bool { return slices.ContainsFunc(alive, who.Is) }
	if c.awaited(o.who) || c.world.disputed(o) {
		return false
	}
	if holder, held := c.world.holder(o.InstanceID); held && exists(holder) {
		return false
	}
	switch {
	case !exists(o.who), c.resendRemoval(o):
		return true
	case c.world.unfinished(o) && !o.build.ran:
		return c.now.Sub(o.first) > c.cfg.FinishTimeout
	}
	return c.world.has(o.who)[0] != o
}

// awaited reports whether a caller waits for the claimant's instance.
func (c *core) awaited(who claims.ClaimID) bool {
	for _, cl := range c.claims[who.Value] {
		if cl.id.Is(who) && (cl.callers > 0 || cl.busy) {
			return true
		}
	}
	return false
}

// strippedOf returns the instances of existing claimants that lost their claim's tags.
func (c *core) strippedOf(alive []claims.ClaimID) []int {
	var ids []int
	for _, o := range c.world.sorted() {
		if c.world.stripped(o) && !c.world.condemned(o) && slices.ContainsFunc(alive, o.who.Is) {
			ids = append(ids, o.InstanceID)
		}
	}
	return ids
}
