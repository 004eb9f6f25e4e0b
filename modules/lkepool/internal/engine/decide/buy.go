package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// buyer buys nodes.
type buyer struct{ *reader }

// buy is where nodes are bought: as many as claimants wait, less the nodes that are free
// or on their way, as soon as that number is clear.
func (b *buyer) buy(d *demand) {
	b.refuseOverdue(d)
	missing := len(d.unserved())
	if missing == 0 || !b.clear(d) || d.state.Creating > 0 || !b.gathered(d) || !b.ready(d.state.Retry.Until) || !b.allowed(d, &missing) {
		return
	}
	if d.state.Room > 0 {
		missing = min(missing, d.state.Room)
	}
	missing = b.repeatFrozen(d, missing)
	var pools []plan.Pool
	for _, p := range d.pools {
		if p.Phase == belief.Usable && !b.inherited(p) && !b.losing(p) {
			pools = append(pools, plan.Pool{ID: p.ID, Count: p.Count})
		}
	}
	for _, step := range plan.Grow(missing, pools, b.limits.PoolSize) {
		if !b.grow(d, step) {
			return
		}
	}
}

// losing reports whether a removal of one of the pool's nodes was not answered, so that it may
// take effect at any time. A count that includes the node would bring it back.
func (b *buyer) losing(p *belief.Pool) bool {
	return slices.ContainsFunc(b.known.Members(p.ID), func(n *belief.Node) bool {
		return n.Phase == belief.Condemned && n.Removed.IsZero() && n.Present()
	})
}

// repeatFrozen sends counts again that were not answered, where as many nodes are
// missing as they add, and returns how many are missing besides.
func (b *buyer) repeatFrozen(d *demand, missing int) int {
	for _, p := range d.pools {
		f := p.Writes.Frozen
		if add := f.Count - p.Count; add > 0 && add <= missing && f.Count <= b.limits.PoolSize && !b.inherited(p) {
			if !b.grow(d, plan.Step{PoolID: p.ID, Count: f.Count, Add: add}) {
				return 0 // the claimants were refused
			}
			missing -= add
		}
	}
	return missing
}

// clear reports whether it is known what the pools of the key have.
func (b *buyer) clear(d *demand) bool {
	return !d.unclear && d.unread < tuning.QuarantineLimit && b.occupied(d)
}

// occupied reports whether the members that lists alone show are there. An old list may show
// a node that is gone, in the place of one on its way: what would be bought then is a node
// too many. They are read first, or the pool that is to list them.
func (b *buyer) occupied(d *demand) bool {
	all := true
	for _, p := range d.pools {
		for _, n := range b.known.Members(p.ID) {
			if p.Shows(n) || n.Vouched || n.Evidence.Twice() || n.Direct.Failing() && !b.denied(n) {
				continue
			}
			all = false
			switch {
			case n.Evidence.Begun():
				b.prove(n)
			case n.Slot == "":
				b.readNode(n, "no pool lists it, and lists may be old")
			case b.ready(p.Direct.Ended.Add(tuning.VerifyAgain)):
				b.readPool(p, "lists alone show one of its nodes, and they may be old")
			}
		}
	}
	return all
}

// denied reports whether the last read of the instance that was answered did not find it, and
// no list shows it that cannot be older than that.
func (b *buyer) denied(n *belief.Node) bool {
	return !n.Direct.Shown && !n.Direct.Ended.IsZero() && n.Evidence.Last.Before(n.Direct.Ended.Add(b.cfg.ListLag))
}

// gathered reports whether the burst that the claimants belong to is complete.
func (b *buyer) gathered(d *demand) bool {
	unserved := d.unserved()
	oldest, newest := unserved[0].Asked, unserved[0].Asked
	for _, claim := range unserved {
		oldest, newest = minTime(oldest, claim.Asked), belief.Latest(newest, claim.Asked)
	}
	return b.ready(minTime(newest.Add(tuning.GatherQuiet), oldest.Add(tuning.GatherMost)))
}

// allowed reports whether nodes may be bought for the key now, answers the
// claimants if not, and lowers missing to the allowed number.
func (b *buyer) allowed(d *demand, missing *int) bool {
	unserved := d.unserved()
	if b.known.Marks.Err != nil || b.known.Marks.General() {
		if !b.ready(b.known.Marks.Next) {
			if b.known.Marks.Err != nil {
				b.refuse(unserved, b.known.Marks.Err)
			}
			return false
		}
		*missing = 1
	}
	if next := d.state.Joins.Until; b.now.Before(next) {
		b.refuse(unserved, &claims.Error{
			Kind: claims.KindInsufficientCapacity, Op: "claim", RetryAfter: next.Sub(b.now),
			Err: fmt.Errorf("the last %d nodes of this key did not join the cluster; the next one is bought in %s", d.state.Joins.InARow,
				next.Sub(b.now).Round(time.Second)),
		})
		return false
	}
	if d.edited >= tuning.EditedLimit {
		b.refuse(unserved, &claims.Error{Kind: claims.KindConflict, Op: "create pool", Err: fmt.Errorf(
			"%d pools of this key do not fit it any more, because their labels, taints, version, firewall or autoscaler were edited: restore or "+
				"delete them", d.edited)})
		return false
	}
	if !b.counted() {
		return false
	}
	var ceiling error
	if *missing, ceiling = b.cfg.Ceilings.Fit("claim", d.key.InstanceType, *missing, b.known.Owning()); *missing <= 0 {
		b.refuse(unserved, ceiling)
		return false
	}
	return true
}

// grow takes one step, or reads what has to be seen right before it, or refuses the
// claimants that no step before it is for, and returns false. Setting a count has no
// precondition (Linode API facts: the last writer wins), so a count that is too low would
// take nodes away.
func (b *buyer) grow(d *demand, step plan.Step) bool {
	p, _ := b.known.Pools.Get(step.PoolID)
	switch {
	case !b.foundCreated(d.state):
	case step.PoolID == 0:
		b.known.Probe()
		b.do(event.Action{Op: event.OpCreate, Key: d.key, Count: step.Count, Bought: step.Add, Tags: b.known.Tags.PoolTags(d.waiting[0].Request),
			Reason: boughtFor(d, step.Add)})
	case !b.ready(p.Writes.Retry.Until):
	case p.Lowered.Times >= tuning.LowerLimit && b.now.Sub(p.Lowered.Since) <= tuning.LowerMemory:
		b.refuse(d.unserved(), &claims.Error{
			Kind: claims.KindConflict, Op: "scale pool", Object: claims.Object("pool", p.ID), RetryAfter: b.cfg.OrphanTTL,
			Err: fmt.Errorf("another client has lowered the pool's count %d times since %s", p.Lowered.Times,
				p.Lowered.Since.UTC().Format(time.TimeOnly)),
		})
		return false
	case p.Writes.Removing > 0:
		// Its count is about to change.
	case b.seenLately(p.Direct) && !p.Direct.Began.Before(belief.Latest(p.Writes.Grown, p.Writes.Shrunk)):
		b.known.Probe()
		b.do(event.Action{Op: event.OpScale, PoolID: p.ID, Key: d.key, Count: step.Count, Bought: step.Add, Reason: boughtFor(d, step.Add)})
	case b.ready(p.Direct.Ended.Add(tuning.GatherQuiet)) || p.Direct.Agrees:
		b.readPool(p, "look before scaling")
	}
	d.covered += step.Add
	return true
}

// foundCreated reports whether a pool of the key would have been seen, had an
// earlier attempt to create it succeeded. Until then nothing is bought for the
// key, in other pools neither.
func (b *buyer) foundCreated(k *belief.KeyState) bool {
	return k.NotBefore.IsZero() || b.ready(k.NotBefore) && b.freshPools(k.NotBefore, "a creation was not answered")
}

// counted reports whether all nodes are known that the ceilings bound, those
// included that the process before has bought, or may still buy.
func (b *buyer) counted() bool {
	if b.cfg.Ceilings.MaxNodes == 0 && b.cfg.Ceilings.MaxHourlyPrice == 0 {
		return true
	}
	since := b.known.LateUntil.Add(b.cfg.ListLag)
	return b.ready(since) && b.freshPools(since, "the ceilings count what lists may not show yet")
}

// refuseUnserved answers the claimants of a key for which nothing is on its way.
func (b *buyer) refuseUnserved(key lkepool.Key, err error) {
	hash := key.Hash()
	d := &demand{key: key, state: b.known.Purchases.Keyed(hash)}
	for _, claim := range b.callers.Claims {
		assigned := b.known.Assigned(claim.ID)
		if claim.Hash == hash && claim.Waits() && b.preferred(claim.ID) == nil && (assigned == nil || b.known.Quarantined(assigned)) {
			d.waiting = append(d.waiting, claim)
		}
	}
	pools, _ := b.known.PoolsOf(key, hash)
	for _, p := range pools {
		d.pending += b.known.Expected(p)
	}
	b.refuse(d.unserved(), err)
}

// refuseOverdue answers those that have waited for longer than a node may take.
func (b *buyer) refuseOverdue(d *demand) {
	if d.overdue == 0 {
		return
	}
	err := &claims.Error{Kind: claims.KindInsufficientCapacity, Op: "claim",
		Err: fmt.Errorf("%d nodes have been on their way for over %s", d.overdue, b.cfg.PendingTimeout)}
	var late []*callers.Claim
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *callers.Claim) bool {
		tooLong := b.now.Sub(claim.Wanted) > b.cfg.PendingTimeout
		if tooLong {
			late = append(late, claim)
		}
		return tooLong
	})
	b.refuse(late, err)
}

func boughtFor(d *demand, add int) string {
	return fmt.Sprintf("%d more: %d wait, %d are free, %d on their way", add, len(d.waiting), len(d.free), d.pending)
}
