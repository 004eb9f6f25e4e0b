package known

import (
	"iter"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// View has the questions that decisions ask. No question changes a record.
type View struct {
	Objects
	Times
	Requests
	Supplies
}

// The questions: about pools and instances, about times and lists, about requests and purchases, and about nodes on their way.
type (
	Objects  struct{ k *Known }
	Times    struct{ k *Known }
	Requests struct{ k *Known }
	Supplies struct{ k *Known }
)

// Now is the time of the event. From Settled on, direct reads show everything that was answered to the previous leader. Until LateUntil,
// unanswered writes of the previous leader may take effect, and from LateShown on, direct reads show these effects.
func (v Times) Now() time.Time       { return v.k.now }
func (v Times) Settled() time.Time   { return v.k.settled() }
func (v Times) LateShown() time.Time { return v.k.lateUntil.Add(v.k.cfg.SettleTime) }
func (v Times) LateUntil() time.Time { return v.k.lateUntil }

// Tags are the tags of pools and claims.
func (v Times) Tags() tagging.Tags { return v.k.tags }

// Node returns an instance, false if it is not known.
func (v Objects) Node(id int) (*Node, bool) { return v.k.nodes.get(id) }

// Nodes are all instances, in the order of their IDs.
func (v Objects) Nodes() iter.Seq[*Node] { return slices.Values(v.k.nodes.rows) }

// Astray are the instances whose tags do not name the claimant that more than a tag shows, in the order of their IDs.
func (v Objects) Astray() iter.Seq[*Node] { return slices.Values(v.k.astray.rows) }

// Pool returns a pool that a reading showed.
func (v Objects) Pool(id int) (*Pool, bool) {
	p, ok := v.k.pools.get(id)
	if !ok || p.rec.Shown.IsZero() {
		return nil, false
	}
	return p, true
}

// Sought returns the record of a pool that may be known only by its ID, and when this process learned of it.
func (v Objects) Sought(id int) (record.Record[lkepool.Pool], time.Time) {
	p, ok := v.k.pools.get(id)
	if !ok {
		return record.Record[lkepool.Pool]{}, v.k.now
	}
	return p.rec, p.first
}

// Pools are all pools that a reading showed, in the order of their IDs.
func (v Objects) Pools() iter.Seq[*Pool] {
	return func(yield func(*Pool) bool) {
		for _, p := range v.k.pools.rows {
			if !p.rec.Shown.IsZero() && !yield(p) {
				return
			}
		}
	}
}

// Homed are the nodes of a pool, in the order of their IDs.
func (v Objects) Homed(poolID int) iter.Seq[*Node] { return slices.Values(v.k.homed(poolID)) }

// ClaimedFor are the nodes with a claim of this value, in the order of their IDs.
func (v Objects) ClaimedFor(who claims.ClaimID) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, id := range v.k.byClaim[who.Value] {
			if n, ok := v.k.nodes.get(id); ok && n.claim.Of(who) && !yield(n) {
				return
			}
		}
	}
}

// Stored reports whether the records of the caller give the instance to a claimant, and to whom.
func (v Objects) Stored(id int) (claims.ClaimID, bool) {
	who, held := v.k.cfg.Records.Holder(id)
	if !held {
		return claims.ClaimID{}, false
	}
	return v.k.tags.ID(who), true
}

// Request is the newest request for a target, the zero Request for none.
func (v Requests) Request(t Target) Request {
	if r, ok := v.k.requests[t]; ok {
		return *r
	}
	return Request{}
}

// Busy is how many requests of a kind are under way.
func (v Requests) Busy(op event.Op) int { return v.k.busy[op] }

// Ended is when the newest request of a kind ended.
func (v Requests) Ended(op event.Op) time.Time { return v.k.ended[op] }

// Removals is how many removals of nodes of a pool are under way.
func (v Requests) Removals(poolID int) int { return v.k.removals[poolID] }

// PoolList and InstanceList are when the newest answered list began.
func (v Times) PoolList() time.Time     { return v.k.pool.began }
func (v Times) InstanceList() time.Time { return v.k.instance.began }

// Listed reports whether the newest list of instances shows an instance, or may be older than the instance or the last write to it.
func (v Objects) Listed(n *Node) bool {
	older := v.k.instance.began.Before(latest(n.First(), n.rec.Wrote).Add(v.k.cfg.ListLag))
	return v.k.instance.shown[n.ID()] || older && n.rec.Removed.IsZero()
}

// Key returns the record of the purchases for a key.
func (v Requests) Key(hash string) Key {
	if key, ok := v.k.keys[hash]; ok {
		return *key
	}
	return Key{}
}

// Refused returns why the API refuses tags, whether the tags of several instances cannot be written, and when the next write may be
// tried.
func (v Requests) Refused() (err error, general bool, next time.Time) { //nolint:staticcheck,revive // the error is a fact here
	return v.k.refused.err, v.k.refused.general(), v.k.refused.next
}

// GoneNode reports whether an instance is proven gone.
func (v Objects) GoneNode(id int) bool {
	n, ok := v.k.nodes.get(id)
	return ok && !n.rec.Gone.IsZero()
}

// Owned reports whether an instance belongs to a pool of this engine. If its pool is not known, a claim or the engine's tag shows that.
func (v Objects) Owned(n *Node) bool {
	p, ok := v.k.View().Pool(n.home)
	return ok && p.Ours() || !ok && !n.rec.Value.Foreign && (n.claim.Held() || slices.Contains(n.rec.Value.Tags, v.k.tags.Managed))
}

// Detached reports whether the pool of an instance does not list it any more. On LKE Enterprise a pool lists new nodes late, so the
// engine waits for an instance that the pool has never listed.
func (v Objects) Detached(n *Node) bool {
	p, ok := v.k.View().Pool(n.home)
	switch {
	case !ok:
		return n.home != 0 && v.goneFor(n.home)
	case p.SlotOf(n.ID()) != "":
		return false
	}
	return !v.k.limits.NodesLag || !n.left.IsZero() || p.rec.Read.Sub(n.First()) > tuning.UnsettledGrace
}

func (v Objects) goneFor(poolID int) bool {
	p, ok := v.k.pools.get(poolID)
	return ok && !p.rec.Gone.IsZero()
}

// Health is the engine's judgement of an instance.
func (v Objects) Health(n *Node) claims.Health { return v.k.health(n) }

func (k *Known) health(n *Node) claims.Health {
	switch {
	case n.rec.Value.State == lkepool.Leaving:
		return claims.Deleting
	case n.home != 0 && k.View().Detached(n), n.home == 0 && !k.pool.began.IsZero() && k.now.Sub(n.First()) > tuning.UnsettledGrace:
		return claims.Detached
	case n.rec.Value.State == lkepool.Down && k.now.Sub(n.First()) > k.cfg.BootTimeout && n.Identified() && !n.rec.Shown.IsZero():
		return claims.Stopped
	}
	return claims.Healthy
}

// Describe returns an instance as a caller sees it.
func (v Objects) Describe(n *Node) lkepool.Node { return instanceReadings{v.k}.describe(n) }

// Hopeless reports whether an instance is of no use to a claimant. Either reads of it are hopeless ([Request.Hopeless]). Or three writes of
// its tags in a row have failed, and a later read shows that no write had its effect.
func (v Requests) Hopeless(n *Node) bool {
	mark := v.k.View().Request(Target{Op: event.OpMark, ID: n.ID()})
	switch {
	case v.k.refused.general() || mark.Busy > 0:
		return false
	case v.k.View().Request(Target{Op: event.OpGetInstance, ID: n.ID()}).Hopeless():
		return true
	}
	// A refusal that concerns all instances makes no single instance hopeless.
	kind := claims.KindOf(mark.Err)
	return mark.Failed >= tuning.MarkAttempts && kind != claims.KindRateLimited && kind != claims.KindForbidden &&
		(n.claim.Source == record.None || !n.rec.Read.Before(n.rec.Wrote.Add(v.k.cfg.SettleTime)))
}

// ComingTo counts the nodes on their way to a pool. overdue counts the nodes that have been on their way for longer than WaitFor, as a read
// of the pool after that time has shown; they do not count as coming. until is when the next coming node will have been on its way for that
// long. It is in the past while the read is due.
func (v Supplies) ComingTo(p *Pool) (coming, overdue int, until time.Time) {
	wait := v.k.supply.waitFor(p.rec.Value.InstanceType)
	looked := p.rec.Read
	if v.k.limits.NodesLag && v.k.instance.began.Before(looked) {
		looked = v.k.instance.began
	}
	for _, c := range p.coming {
		end := c.since.Add(wait)
		if !looked.Before(end) && !v.unread(p, end) {
			overdue++
			continue
		}
		coming++
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return coming, overdue, until
}

// unread reports whether the pool lists an instance that has to be read before nodes of the pool count as overdue.
func (v Supplies) unread(p *Pool, since time.Time) bool {
	return slices.ContainsFunc(v.k.homed(p.ID()), func(n *Node) bool { return v.k.View().Unread(p, n, since) })
}

// Unread reports whether the pool lists an instance that has to be read, because it may exist although lists lack it. An instance
// without a claimant has to be read if no reading has shown it. An instance that was answered 404 has to be read again in three cases:
// no second read, the settle time later, was answered 404; a read has failed since, or a list shows the instance; the last read began
// before since, which has passed, and from since on nodes of the pool count as overdue.
func (v Supplies) Unread(p *Pool, n *Node, since time.Time) bool {
	missing := n.rec.Missing
	if missing.IsZero() && n.claim.Held() || n.Leaving() || missing.IsZero() && n.Identified() || p.SlotOf(n.ID()) == "" {
		return false
	}
	read := v.k.View().Request(Target{Op: event.OpGetInstance, ID: n.ID()})
	doubted := read.Err != nil && !isMissing(read.Err) || v.k.instance.shown[n.ID()]
	again := doubted || read.Began.Before(missing.Add(v.k.cfg.SettleTime)) || !v.k.now.Before(since) && read.Began.Before(since)
	return (missing.IsZero() || again) && !read.Hopeless()
}

// Coming counts the nodes on their way to all pools.
func (v Supplies) Coming() int {
	all := 0
	for p := range v.k.View().Pools() {
		if p.Ours() && !v.k.View().Retired(p) && p.rec.Gone.IsZero() {
			coming, _, _ := v.k.View().ComingTo(p)
			all += coming
		}
	}
	return all
}

// WaitFor returns how long a node of an instance type counts as on its way.
func (v Times) WaitFor(instanceType string) time.Duration { return v.k.supply.waitFor(instanceType) }

// Looking reports whether a look for nodes on their way is under way, and otherwise when the next is due.
func (v Times) Looking() (running bool, next time.Time) { return v.k.supply.running, v.k.supply.next }

// Absent reports whether a pool does not count for its key any more: two reads of it, the settle time apart, were answered 404, and a list
// that began after them lacks it. The proof that the pool is gone takes longer.
func (v Requests) Absent(id int) bool {
	r, first := v.k.View().Sought(id)
	return !r.Gone.IsZero() || v.absent(Target{Op: event.OpGetPool, ID: id}, r.Missing, &v.k.pool, first)
}

// AbsentNode reports the same for an instance and its claimant.
func (v Requests) AbsentNode(n *Node) bool {
	return !n.rec.Gone.IsZero() || v.absent(Target{Op: event.OpGetInstance, ID: n.ID()}, n.rec.Missing, &v.k.instance, n.First())
}

func (v Requests) absent(t Target, missing time.Time, l *list, first time.Time) bool {
	return v.twice(t, missing) && !l.shown[t.ID] && !l.began.Before(latest(v.Request(t).Ended, first.Add(v.k.cfg.ListLag)))
}

// twice reports whether an object that is missing was answered 404 again, the settle time after the first 404.
func (v Requests) twice(t Target, missing time.Time) bool {
	read := v.Request(t)
	return !missing.IsZero() && isMissing(read.Err) && !read.Began.Before(missing.Add(v.k.cfg.SettleTime))
}

// Owning counts the nodes of each instance type that our pools have, including nodes that purchases under way or without an answer may add.
func (v Requests) Owning() map[string]int {
	owned := map[string]int{}
	for t, r := range v.k.requests {
		if t.Op == event.OpCreate && r.Busy > 0 {
			owned[r.Sent.Key.InstanceType] += r.Buying
		}
	}
	for _, l := range v.k.lost {
		owned[l.instanceType] += l.nodes
	}
	for p := range v.k.View().Pools() {
		if !p.Ours() || !p.rec.Gone.IsZero() {
			continue
		}
		count := p.Count()
		if r := v.k.View().Request(Target{Op: event.OpScale, ID: p.ID()}); r.Busy > 0 || r.Err != nil && p.rec.Read.Before(p.rec.Aside) {
			count = max(count, r.Sent.Count)
		}
		owned[p.rec.Value.InstanceType] += count
	}
	return owned
}

// PoolsOf returns the pools of a key that can be used, and the pools that cannot be used because they were edited.
func (v Objects) PoolsOf(key lkepool.Key, hash string) (usable, edited []*Pool) {
	for p := range v.k.View().Pools() {
		switch {
		case p.hash != hash || v.Retired(p) || v.k.View().Absent(p.ID()):
		case p.Fits(key):
			usable = append(usable, p)
		default:
			edited = append(edited, p)
		}
	}
	return usable, edited
}

// Vanished counts the pools of a key that this process made and that do not exist: the platform accepted their creation and made nothing,
// or a person deleted them. Unanswered creations that no list has shown count as well: lists may be empty, and each creation may have made
// a node.
func (v Objects) Vanished(hash string) (n int) {
	n = v.k.lostFor(hash)
	for p := range v.k.View().Pools() {
		if p.hash == hash && p.Made() && p.rec.Removing.IsZero() && v.k.View().Absent(p.ID()) {
			n++
		}
	}
	return n
}

// LeftOut reports whether the lists themselves prove that one of them is incomplete. A list is empty, or a pool lists an instance that
// the list of instances lacks, or an instance names a pool that the list of pools lacks, or a pool that this process found has more
// places than instances.
func (v Objects) LeftOut() bool {
	if len(v.k.pool.shown) == 0 || len(v.k.instance.shown) == 0 {
		return true
	}
	for _, n := range v.k.nodes.rows {
		if _, known := v.k.View().Pool(n.home); n.home != 0 && !known && !n.Leaving() || known && !n.Identified() {
			return true
		}
	}
	for p := range v.k.View().Pools() {
		if p.Ours() && !p.Made() && len(p.coming) > 0 {
			return true
		}
	}
	return false
}

// Retired reports whether a pool is to be deleted: this process deletes it, or its tags announce the deletion. It serves no claimant any
// more.
func (v Objects) Retired(p *Pool) bool {
	return !p.rec.Removing.IsZero() || v.k.tags.Retired(p.rec.Value.Tags)
}

// Owns reports whether a pool was made by this engine, and whether that is known.
func (v Objects) Owns(poolID int) (owned, known bool) {
	p, known := v.k.View().Pool(poolID)
	return known && p.Ours(), known
}

// PoolOf returns the pool of an instance, 0 if none is known.
func (v Objects) PoolOf(instanceID int) int {
	if n, ok := v.k.nodes.get(instanceID); ok {
		return n.home
	}
	return 0
}

// Relists reports whether the first lists are incomplete. Lists that begin at FirstLists or later are complete.
func (v Times) Relists() bool         { return !v.k.again.IsZero() }
func (v Times) FirstLists() time.Time { return v.k.again }

// RemovedSlots returns the slots without an instance whose removal was accepted at since or later.
func (v Requests) RemovedSlots(poolID int, since time.Time) []string {
	var slots []string
	for t, r := range v.k.requests {
		if t.Op == event.OpRemove && t.ID == poolID && r.Sent.InstanceID == 0 && r.Busy == 0 && r.Err == nil && !r.Ended.Before(since) {
			slots = append(slots, t.Name)
		}
	}
	slices.Sort(slots)
	return slots
}

// SentRemoval returns the node ID in the removal of an instance that was sent, "" if none was. The removal is repeated with this node
// ID, also when no pool lists the instance any more: the answer then shows that the instance is gone.
func (v Requests) SentRemoval(n *Node) string {
	for t, r := range v.k.requests {
		if t.Op == event.OpRemove && t.ID == n.home && r.Sent.InstanceID == n.ID() {
			return t.Name
		}
	}
	return ""
}
