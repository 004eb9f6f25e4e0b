package instances

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// world is what is known of the cluster's instances. merge.go alone changes it.
type world struct {
	objects map[int]*object
	// gone has the instances that are proven gone, and since when.
	gone map[int]time.Time
	// unclaimed has the tag of the cluster, and no claim.
	unclaimed []claims.Node
}

// object is one instance of this cluster.
type object struct {
	Instance
	// who has it. A claim once seen stays, whatever tags are read later.
	who claims.ClaimID
	// whole has the tags as they were last seen or written with the claim: what is
	// written again when a person takes the claim away.
	whole []string
	// first is when this process first saw it, made when its creation by this
	// process was answered, tagged when its tags were written. An own write
	// outranks readings that began less than the settle time after it.
	first, made, tagged time.Time
	// read is when the latest direct reading that shows it began, listed the latest list.
	read, listed time.Time
	// accepted is when the latest removal was, and removal its seq.
	accepted time.Time
	removal  int
	// orphan is since when nothing needs it.
	orphan time.Time
	// failed and err are the last failure of a write to it.
	failed int
	err    error
	build  building
}

// claim is one claimant that has asked.
type claim struct {
	id    claims.ClaimID
	label string
	// callers is how many wait for it; left is when the last one went.
	callers int
	left    time.Time
	queued  bool
	// busy: a creation is under way, of this type.
	busy         bool
	instanceType string
	// unsure is when a creation ended without a proof of its effect, taken when
	// one was refused because the label exists.
	unsure, taken time.Time
	// finding: its label is being listed. found is when the last such list began,
	// finds how many there were in a row.
	finding bool
	found   time.Time
	finds   int
	// blocker is an instance that has the label and is not the claimant's.
	blocker int
	// failed and err are its last failure; trouble is why it still waits.
	failed       int
	err, trouble error
}

// resolving reports that it is to be found out first who has the label.
func (cl *claim) resolving() bool {
	return !cl.unsure.IsZero() || !cl.taken.IsZero() || cl.blocker != 0
}

// look is what direct readings of one instance have shown.
type look struct {
	running  bool
	began    time.Time // of the last one that proves something
	instance Instance
	// missing is when the first of those that answered 404 in a row began.
	missing time.Time
	gone    bool
	hold    time.Time // not before
	failed  int
	err     error
	used    time.Time
}

// state is what an instance's status means for the engine.
type state int

const (
	up state = iota
	down
	leaving
)

// stateOf: what is busy with something is up. A new instance is provisioning.
func stateOf(status string) state {
	switch status {
	case "deleting":
		return leaving
	case "offline", "stopped", "shutting_down", "billing_suspension":
		return down
	}
	return up
}

// sorted returns the objects in the order of their IDs.
func (w *world) sorted() []*object {
	return slices.SortedFunc(maps.Values(w.objects), func(a, b *object) int { return cmp.Compare(a.InstanceID, b.InstanceID) })
}

// has returns the instances of a claimant, the best first: that which the
// caller's own records name, then that with the claimant's label.
func (c *core) has(who claims.ClaimID) []*object {
	var own []*object
	for _, o := range c.world.objects {
		if o.who.Is(who) {
			own = append(own, o)
		}
	}
	if len(own) < 2 {
		return own
	}
	rank := func(o *object) int {
		holder, held := c.holder(o.InstanceID)
		switch {
		case held && holder.Is(who):
			return 0
		case !o.accepted.IsZero():
			return 3
		case !c.cfg.own.isUnfinished(o.Tags):
			return 1
		}
		return 2
	}
	slices.SortFunc(own, func(a, b *object) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.InstanceID, b.InstanceID))
	})
	return own
}

// holder is who has an instance according to the caller's own records.
func (c *core) holder(id int) (claims.ClaimID, bool) {
	if c.cfg.Holder == nil {
		return claims.ClaimID{}, false
	}
	claimant, held := c.cfg.Holder(id)
	return c.cfg.own.ID(claimant), held
}

// stripped reports whether the tags that make the instance its claimant's were
// taken away. Tags that name another claimant are not: those are a conflict.
func (c *core) stripped(o *object) bool {
	return !c.cfg.own.ours(o.Instance) && !o.Foreign && c.cfg.own.ClaimIn(o.Tags).None()
}

// leaving reports whether the instance is being removed.
func (o *object) leaving() bool { return !o.accepted.IsZero() || stateOf(o.Status) == leaving }

// disputed reports whether the instance has tags of another claimant than the
// one who is known to have it.
func (c *core) disputed(o *object) bool {
	now := c.cfg.own.ClaimIn(o.Tags)
	return o.Foreign || !now.None() && !now.Is(o.who)
}

// shown is the instance as callers see it.
func (c *core) shown(o *object) Instance {
	i := o.Instance
	i.Tags, i.IPv4 = slices.Clone(i.Tags), slices.Clone(i.IPv4)
	i.Claim = o.who.Value
	switch {
	case o.leaving():
		i.Health = claims.Deleting
	case c.cfg.own.isUnfinished(i.Tags):
		i.Health = claims.Unfinished
	case i.Status != "running" && c.now.Sub(o.first) > c.cfg.BootTimeout:
		i.Health = claims.Stopped
	}
	return i
}

// look schedules a direct reading of an instance that began at or after since.
// The step is none when there is one; then gone is whether the instance is
// proven not to exist.
func (c *core) look(id int, since time.Time, seq int, reason string) (gone bool, s step) {
	l := c.looks[id]
	if l == nil {
		l = &look{}
		c.looks[id] = l
	}
	l.used = c.now
	again := l.missing.Add(c.cfg.SettleTime)
	switch {
	case l.gone:
		return true, step{}
	case l.failed > seq:
		return false, refuse(l.err)
	case l.running:
		return false, wait(time.Time{})
	case c.now.Before(l.hold):
		return false, wait(l.hold)
	case !l.missing.IsZero() && c.now.Before(again):
		return false, wait(again)
	case l.missing.IsZero() && !l.began.IsZero() && !l.began.Before(since):
		return false, step{}
	case c.now.Before(since):
		return false, wait(since)
	}
	l.running = true
	return false, c.do(effect{op: opRead, id: id, reason: reason})
}
