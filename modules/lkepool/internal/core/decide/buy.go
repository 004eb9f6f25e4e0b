package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// buy buys nodes, and nothing else does: as many as claimants wait, less the nodes that are free or on their way.
func (t buyer) buy(d *demand) {
	if !t.refuseOverdue(d) {
		return
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *callers.Claim) bool { return t.answered[claim] })
	missing := len(d.unserved())
	create := known.Target{Op: event.OpCreate, Name: d.hash}
	if missing == 0 || d.unclear || t.busy(create) || !t.gathered(d) || !t.clear(d) {
		return
	}
	if missing = t.allowed(d, missing); missing == 0 || t.wait(t.creationDue(d)) {
		return
	}
	if room := t.known.Key(d.hash).Room(); room > 0 {
		missing = min(missing, room)
	}
	var pools []plan.Pool
	for _, p := range d.pools {
		if t.growable(p) {
			pools = append(pools, plan.Pool{ID: p.ID(), Count: p.Count()})
		}
	}
	for _, step := range plan.Grow(missing, pools, t.limits.PoolSize) {
		t.grow(d, step)
	}
}

// creationDue is the end of the pause before the next creation for a key: after a creation that failed, and after pools that the platform
// accepted and did not make, or that no list shows. Example: two pools of a key have vanished, so the next pool is created 8 s after the
// answer to the last creation.
func (t buyer) creationDue(d *demand) time.Time {
	last := t.known.Request(known.Target{Op: event.OpCreate, Name: d.hash})
	if n := t.known.Vanished(d.hash); n > 0 {
		return later(last.Until, last.Ended.Add(min(t.cfg.RetryDelay<<min(n, 8), tuning.LongestVain)))
	}
	return last.Until
}

// clear reports whether it is known which nodes the pools of the key have. Otherwise it looks for a purchase without an answer, and
// reads pools that this process has not read yet, pools whose last read was not believed because it may be older than a write, and
// instances that no pool lists. An old list may show an instance that is gone, and a person may have deleted an instance that was seen
// minutes ago. Example: a Linode was tagged at 10:00:00 and deleted at 10:00:20, and its pool lists nothing at 10:01:20. The Linode is
// read, is gone, and the Linode that replaces it counts as on its way.
func (t buyer) clear(d *demand) bool {
	clear := true
	if since := t.known.Key(d.hash).NotBefore(); !since.IsZero() {
		clear = !t.wait(since) && t.readList(poolList, since, "a purchase was not answered")
	}
	for _, p := range d.pools {
		if !t.believed(p) {
			clear = false
			t.readPool(p.ID(), "look at the pool before buying")
		}
		for n := range t.known.Homed(p.ID()) {
			if t.limits.NodesLag && t.unsighted(p, n) {
				clear = false
				t.readNode(n, "no pool lists the instance, and the list may be old")
			}
		}
	}
	return clear
}

// believed reports whether this process made or read a pool, and the record follows the newest answered read of it.
func (t buyer) believed(p *known.Pool) bool {
	r, read := p.Record(), t.known.Request(pool(p.ID()))
	return (p.Made() || !r.Read.Before(t.known.Settled())) && (!unbelieved(read, r) || !r.Missing.IsZero())
}

// unsighted reports whether a pool does not list an instance, and no read or write within SightValid has shown that the instance exists.
func (t buyer) unsighted(p *known.Pool, n *known.Node) bool {
	r := n.Record()
	lately := !r.Read.IsZero() && p.Record().Read.Sub(later(r.Read, r.Wrote)) < tuning.SightValid
	return !n.Leaving() && r.Missing.IsZero() && !lately && p.SlotOf(n.ID()) == "" && !t.known.Request(instance(n.ID())).Hopeless()
}

// gathered reports whether the burst that the claimants belong to is complete.
func (t buyer) gathered(d *demand) bool {
	unserved := d.unserved()
	oldest, newest := unserved[0].Called(), unserved[0].Called()
	for _, claim := range unserved {
		oldest, newest = sooner(oldest, claim.Called()), later(newest, claim.Called())
	}
	return !t.wait(sooner(newest.Add(tuning.GatherQuiet), oldest.Add(tuning.GatherMost)))
}

// allowed returns how many nodes may be bought for the key now. If no node may be bought, it answers the claimants.
func (t buyer) allowed(d *demand, missing int) int {
	unserved := slices.Clone(d.unserved())
	if err, general, next := t.known.Refused(); err != nil || general {
		if t.wait(next) || t.probing() {
			if err != nil {
				t.refuse(unserved, err)
			}
			return 0
		}
		missing = 1
	}
	if joins := t.known.Key(d.hash).Joins(); t.now.Before(joins.Until) {
		t.refuse(unserved, &claims.Error{
			Kind: claims.KindInsufficientCapacity, Op: "claim", RetryAfter: joins.Until.Sub(t.now),
			Err: fmt.Errorf("the last %d nodes of this key did not join the cluster; the next one is bought in %s", joins.InARow,
				joins.Until.Sub(t.now).Round(time.Second)),
		})
		return 0
	}
	if len(d.edited) >= tuning.EditedLimit {
		t.refuse(unserved, &claims.Error{Kind: claims.KindConflict, Op: "create pool", Err: fmt.Errorf(
			"%d pools of this key do not fit it any more, because their labels, taints, version, firewall or autoscaler were edited: restore or "+
				"delete them", len(d.edited))})
		return 0
	}
	if t.cfg.Ceilings.Bounded() && !t.counted() {
		return 0
	}
	allowed, ceiling := t.cfg.Ceilings.Fit("claim", d.key.InstanceType, missing, t.owning())
	if ceiling != nil {
		t.refuse(unserved, ceiling)
		return 0
	}
	return allowed
}

// counted reports whether all nodes that the ceilings bound are known. They include the nodes that the previous leader has bought, or may
// still buy. Otherwise counted reads the pools in doubt.
func (t buyer) counted() bool {
	since := t.known.LateUntil().Add(t.cfg.ListLag)
	all := !t.wait(since) && t.readList(poolList, since, "the ceilings count nodes that lists may not show yet")
	for p := range t.known.Pools() {
		switch r := p.Record(); {
		case !p.Ours() || !r.Gone.IsZero() || !r.Removing.IsZero():
		case p.Look() || !r.Missing.IsZero():
			all = false
			t.readInDoubt(p, "the ceilings count its nodes")
		case !t.wait(r.Aside) && r.Read.Before(r.Aside):
			all = false
			t.readPool(p.ID(), "the ceilings count its nodes")
		}
	}
	return all
}

// owning counts the nodes that our pools have, including nodes that this turn has bought.
func (t buyer) owning() map[string]int {
	owned := t.known.Owning()
	for _, a := range t.chosen.Actions {
		owned[a.Key.InstanceType] += a.Bought
	}
	return owned
}

// growable reports whether a pool's count may be raised: nothing is in doubt about the pool. An unanswered removal of one of its nodes is a
// doubt, because a higher count would bring another node in the place of the removed node.
func (t buyer) growable(p *known.Pool) bool {
	r := p.Record()
	if !r.Usable(t.now) || t.inherited(p) {
		t.wait(r.Aside)
		return false
	}
	return true
}

// grow takes one step, or first reads the pool. Setting a count has no precondition (Linode API facts: the last writer wins), so a
// count that is too low would take nodes away.
func (t buyer) grow(d *demand, step plan.Step) {
	reason := fmt.Sprintf("%d more: %d wait, %d are free, %d on their way", step.Add, len(d.waiting), len(d.free), d.coming)
	if step.PoolID == 0 {
		t.do(event.Action{Op: event.OpCreate, Key: d.key, Count: step.Count, Bought: step.Add,
			Tags: t.known.Tags().PoolTags(d.waiting[0].Request()), Reason: reason})
		return
	}
	p, _ := t.known.Pool(step.PoolID)
	r := p.Record()
	switch {
	case t.wait(t.known.Request(countOf(p.ID())).Until):
	case t.removals(p) > 0:
		// A removal is about to change the count.
	case t.seenPool(p):
		t.do(event.Action{Op: event.OpScale, PoolID: p.ID(), Key: d.key, Count: step.Count, Bought: step.Add, Reason: reason})
	case r.Read.Before(r.Wrote) && !t.known.Request(pool(p.ID())).Began.Before(r.Wrote) && t.wait(r.Wrote.Add(t.cfg.SettleTime)):
		// The last read began after the last write, and may show the pool as it was before.
	default:
		t.readPool(p.ID(), "look before scaling")
	}
}

// refuseUnserved answers the claimants of a key for which no node is on its way.
func (t buyer) refuseUnserved(key lkepool.Key, err error) {
	d := &demand{key: key, hash: key.Hash()}
	for claim := range t.callers.Claims() {
		if claim.Hash() == d.hash && claim.Waits() && t.held(claim.ID()) == nil && t.chosenFor(claim.ID()) == nil {
			d.waiting = append(d.waiting, claim)
		}
	}
	pools, _ := t.known.PoolsOf(key, d.hash)
	for _, p := range pools {
		coming, overdue, _ := t.known.ComingTo(p)
		d.coming += coming + overdue
	}
	t.refuse(d.unserved(), err)
}

// refuseOverdue answers the claimants that have waited for longer than this platform takes for a node, once a look within LateValid has
// shown that the nodes have still not come. It returns false until that look is made.
func (t buyer) refuseOverdue(d *demand) bool {
	if d.overdue == 0 {
		return true
	}
	wait := t.known.WaitFor(d.key.InstanceType)
	late := slices.DeleteFunc(slices.Clone(d.unserved()), func(claim *callers.Claim) bool { return t.now.Sub(claim.Wanted()) <= wait })
	if len(late) == 0 {
		return true
	}
	since, looked := t.now.Add(-tuning.LateValid), true
	for _, p := range d.pools {
		if _, overdue, _ := t.known.ComingTo(p); overdue > 0 && !t.lookedLate(p, since) {
			looked = false
		}
	}
	if looked {
		t.refuse(late, &claims.Error{Kind: claims.KindInsufficientCapacity, Op: "claim",
			Err: fmt.Errorf("%d nodes were bought and have had no Linode for over %s", d.overdue, wait)})
	}
	return looked
}
