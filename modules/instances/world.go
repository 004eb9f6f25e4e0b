package instances

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// world caches the latest state of the cluster's instances. Only merge.go changes it.
type world struct {
	objects map[int]*object
	// gone maps instances that are proven gone to the time of the proof.
	gone map[int]time.Time
	// unclaimed contains instances with the tag of the cluster and without a claim.
	unclaimed []claims.Node
}

// object records one instance of this cluster.
type object struct {
	Instance
	// who is the claimant. It stays, whatever tags are read later.
	who claims.ClaimID
	// claimedTags contains the tags last seen or written together with the claim. They
	// are written again when a user removes the claim.
	claimedTags []string
	// first is the time of the first reading by this process, made of the answer to
	// its creation, tagged of the last write of its tags. An own write outranks readings
	// begun less than SettleTime after it.
	first, made, tagged time.Time
	// read is the beginning of the latest direct reading that shows it, listed of the
	// latest list.
	read, listed time.Time
	// accepted is the time of the latest accepted removal, removal its seq.
	accepted time.Time
	removal  int
	// orphan is the time since which it is unneeded.
	orphan time.Time
	// failed is the seq of the last failed write to it, err the error.
	failed int
	err    error
	build  building
}

// claimState records one claimant of Create.
type claimState struct {
	id    claims.ClaimID
	label string
	// callers counts the waiting callers; left is the time at which the last one left.
	callers int
	left    time.Time
	queued  bool
	// busy is true while a creation is under way, of instanceType.
	busy         bool
	instanceType string
	// ambiguous is the time of the last creation without a known effect, labelTaken of
	// the last one refused because the label exists.
	ambiguous, labelTaken time.Time
	// searching is true while the label is being listed. searched is the beginning of
	// the last such list, searches counts them in a row.
	searching bool
	searched  time.Time
	searches  int
	// labelOwner is an instance that has the label and is not the claimant's.
	labelOwner int
	// failed is the seq of the last error that ends calls, err the error. lastFailure is
	// the reason of the wait.
	failed           int
	err, lastFailure error
}

// resolving reports whether the owner of the label must be found first.
func (cl *claimState) resolving() bool {
	return !cl.ambiguous.IsZero() || !cl.labelTaken.IsZero() || cl.labelOwner != 0
}

// directRead records the direct readings of one instance.
type directRead struct {
	running  bool
	began    time.Time // of the last conclusive one
	instance Instance
	// missing is the beginning of the first of the latest readings that answered 404.
	missing   time.Time
	gone      bool
	notBefore time.Time
	failed    int
	err       error
	used      time.Time
}

// state classifies an instance's status.
type state int

const (
	up state = iota
	down
	leaving
)

// stateOf classifies busy instances as up. A new instance is provisioning.
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

// has returns the instances of a claimant. The one in the caller's own records is
// first, then finished ones, then those that are not being removed.
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

// holder returns the claimant of an instance according to the caller's own records.
func (c *core) holder(id int) (claims.ClaimID, bool) {
	if c.cfg.Holder == nil {
		return claims.ClaimID{}, false
	}
	claimant, held := c.cfg.Holder(id)
	return c.cfg.own.ID(claimant), held
}

// stripped reports whether the tags that make the instance its claimant's were
// removed. Tags of another claimant are a conflict instead.
func (c *core) stripped(o *object) bool {
	return !c.cfg.own.ours(o.Instance) && !o.Foreign && c.cfg.own.ClaimIn(o.Tags).None()
}

// leaving reports whether the instance is being removed.
func (o *object) leaving() bool { return !o.accepted.IsZero() || stateOf(o.Status) == leaving }

// disputed reports whether the instance has tags of another claimant than its own.
func (c *core) disputed(o *object) bool {
	now := c.cfg.own.ClaimIn(o.Tags)
	return o.Foreign || !now.None() && !now.Is(o.who)
}

// view returns a copy of the instance for callers, with its health.
func (c *core) view(o *object) Instance {
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

// readDirectly schedules a direct reading of an instance begun at or after since. The
// step is none if there is one; then gone reports whether the instance is proven not
// to exist.
func (c *core) readDirectly(id int, since time.Time, seq int, reason string) (gone bool, s step) {
	l := c.directReads[id]
	if l == nil {
		l = &directRead{}
		c.directReads[id] = l
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
	case c.now.Before(l.notBefore):
		return false, wait(l.notBefore)
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
