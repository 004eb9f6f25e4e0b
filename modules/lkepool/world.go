package lkepool

import (
	"slices"
	"strings"
	"time"
)

// world is what is known of the cluster: nodes, pools and claims, and nothing
// else. merge.go alone changes what it contains about the platform.
type world struct {
	nodes  table[*node]
	pools  table[*pool]
	claims []*claim
	// goneNodes and gonePools are what was proven gone, pools with when: late
	// lists show it again.
	goneNodes map[int]ended
	gonePools map[int]time.Time
}

// ended is an instance that was proven gone. removed: by this process.
type ended struct{ removed bool }

// node is one instance.
type node struct {
	Instance
	// home is the pool that it belongs to, 0 for none that is known, and slot
	// the node ID under which that pool lists it.
	home int
	slot string
	// detached is since when its pool has not listed it any more.
	detached time.Time
	hold     hold
	// tagged is when the reading or write began that Tags come from; the zero
	// time for an instance that only a slot has named so far.
	tagged time.Time
	// arrived: this process saw it come, so no earlier one can have claimed it.
	arrived bool
	// first and last are when it was first seen, and when the newest reading
	// began that showed it.
	first, last time.Time
	absence     absence
	look        look
	removal     removal
}

// hold is the claim on an instance.
type hold struct {
	who   claimID
	state holdState
	// at is when the state began, since when this claimant was first seen here.
	at, since time.Time
	// claimedAt is what the instance's tag says.
	claimedAt time.Time
	// own: this process made the claim. wrote: it wrote the tags, which may have
	// been claimed before. stripped: a reading lacks the claim's tag.
	// witnessed: the caller's own records were asked.
	own, wrote, stripped, witnessed bool
	// failed counts failed writes in a row that were the instance's fault, err is
	// the last failure, and retry the pause after it.
	failed int
	err    error
	retry  backoff
}

// freed is the hold of an instance that has no claimant any more.
func (h hold) freed(now time.Time) hold {
	return hold{at: now, failed: h.failed, err: h.err, retry: h.retry}
}

type holdState int

const (
	free holdState = iota
	// reserved: chosen for a claimant, nothing is written yet.
	reserved
	// writing: the write is under way.
	writing
	// unsure: the write failed, and its effect is not known.
	unsure
	// held: a write's answer or a reading showed the claim.
	held
)

// absence is what is known about an object that readings lack.
type absence struct {
	// since is when the first list without it began, proof when the first
	// direct read began that answered 404.
	since, proof time.Time
}

// look is the last direct read of an object.
type look struct {
	// began and ended are those of the last one that was answered, with the
	// object or with a 404; tried is when the last attempt began.
	began, ended, tried time.Time
	// busy: one is under way. want: a list contradicts what is known.
	busy, want bool
	// agrees: it contradicted nothing.
	agrees bool
	// err is why the newest attempt failed; nil for one that was answered.
	err   error
	retry backoff
}

// failing reports whether reads of the object fail again and again, and not
// because requests are limited.
func (l *look) failing() bool {
	return l.retry.failed >= markAttempts && KindOf(l.err) != KindRateLimited
}

// removal is this process's attempt to remove an instance.
type removal struct {
	// accepted is when the platform accepted it. listed: it still shows the
	// instance, longer after that than a reading may be out of date.
	accepted time.Time
	listed   bool
	busy     bool
	// err is why the last attempt failed, and failed when.
	err    error
	failed time.Time
}

// pool is one pool of the cluster. Count is the believed one: own writes and
// direct reads change it, lists only make the engine look.
type pool struct {
	Pool
	slots []slot
	// last is when the newest reading began that showed it.
	last    time.Time
	absence absence
	look    look
	writes  poolWrites
	// owing has the time since when each node that is on its way has been.
	owing   []time.Time
	lowered lowering
	// witnessed: all of its slots are known from a reading of this leadership.
	witnessed bool
	// unsettled is since when it has had more members than its count.
	unsettled time.Time
}

// slot is a place in a pool, as last seen.
type slot struct {
	Slot
	seen time.Time
	// vacant is since when it has been without an instance. lost: it had one,
	// and whether the platform replaces that is not known.
	vacant time.Time
	lost   bool
}

// poolWrites are the writes under way for a pool.
type poolWrites struct {
	growing, dropping bool
	removing          int
	retry             backoff
	// began is when the newest one that raises the count was sent, dropped when
	// the deletion of the pool was accepted.
	began, dropped time.Time
	// grown and shrunk are when writes that raised and lowered the count were
	// answered, unsure when one failed whose effect is not known.
	grown, shrunk, unsure time.Time
}

// lowering counts how often another client lowered the pool's count.
type lowering struct {
	times int
	since time.Time
	// scaled is the count that this process set.
	scaled int
}

// claim is one claimant that wants a node, or did lately.
type claim struct {
	id      claimID
	request Request
	hash    string
	// wanted is when it first asked, asked when it came or left last.
	wanted, asked time.Time
	// tokens are its callers that wait; none for one that left and will ask again.
	tokens []int
}

// claimID is a claimant as tags record it: ClaimValue of the name, and a hash of
// the UID, "" where it is not known.
type claimID struct{ value, uid string }

func (a claimID) none() bool { return a.value == "" }

// is reports whether both are the same claimant, as far as is known.
func (a claimID) is(b claimID) bool {
	return a.value == b.value && (a.uid == b.uid || a.uid == "" || b.uid == "")
}

// backoff is the pause after failures in a row.
type backoff struct {
	failed int
	until  time.Time
}

func (b *backoff) fail(now time.Time, first, atLeast time.Duration) {
	pause := first << min(b.failed, 8)
	b.failed++
	b.until = now.Add(max(min(pause, longestRetry), atLeast))
}

// table is a map that is always read in the order of its IDs, so that the same
// events always cause the same actions.
type table[R any] struct {
	ids  []int
	rows []R
}

func (t *table[R]) get(id int) (R, bool) {
	at, ok := slices.BinarySearch(t.ids, id)
	if !ok {
		var none R
		return none, false
	}
	return t.rows[at], true
}

func (t *table[R]) put(id int, row R) {
	at, ok := slices.BinarySearch(t.ids, id)
	if ok {
		t.rows[at] = row
		return
	}
	t.ids, t.rows = slices.Insert(t.ids, at, id), slices.Insert(t.rows, at, row)
}

func (t *table[R]) drop(id int) {
	if at, ok := slices.BinarySearch(t.ids, id); ok {
		t.ids, t.rows = slices.Delete(t.ids, at, at+1), slices.Delete(t.rows, at, at+1)
	}
}

// present reports whether the node holds one of its pool's places.
func (n *node) present() bool {
	return n.home != 0 && n.detached.IsZero() && n.State != Leaving && (n.removal.accepted.IsZero() || n.removal.listed)
}

// homeOrNone is the pool of a node that may be unknown.
func (n *node) homeOrNone() int {
	if n == nil {
		return 0
	}
	return n.home
}

// known reports whether enough is known of the node to say who has it.
func (n *node) known() bool { return !n.tagged.IsZero() || n.arrived }

// claimed reports whether the node has a claimant, also while its tags are
// being changed.
func (n *node) claimed() bool {
	return n.hold.state == held || n.hold.state == writing && !n.hold.since.IsZero()
}

// holds reports whether the claimant has the node, and may be given it again.
func (n *node) holds(who claimID) bool {
	return n.claimed() && n.hold.who.is(who) && n.State != Leaving && n.removal.accepted.IsZero()
}

// members are the nodes that hold the pool's places.
func (w *world) members(poolID int) []*node {
	var members []*node
	for _, n := range w.nodes.rows {
		if n.home == poolID && n.present() {
			members = append(members, n)
		}
	}
	return members
}

// claimOf returns the record of a claimant, nil for one that does not want a node.
func (w *world) claimOf(who claimID) *claim {
	for _, c := range w.claims {
		if c.id.is(who) {
			return c
		}
	}
	return nil
}

// holder returns the node of a claimant, nil if it has none: of several the one
// that this process wrote, then the one claimed later, then the lower ID.
func (w *world) holder(who claimID) *node {
	var best *node
	for _, n := range w.nodes.rows {
		if p, known := w.pools.get(n.home); n.holds(who) && (!known || p.ours()) && (best == nil || prefer(n, best)) {
			best = n
		}
	}
	return best
}

// prefer orders two nodes of one claimant. A claimant that had stored the
// answer about the one claimed earlier would not have asked again.
func prefer(a, b *node) bool {
	switch {
	case a.hold.own != b.hold.own:
		return a.hold.own
	case !a.hold.claimedAt.Equal(b.hold.claimedAt):
		return a.hold.claimedAt.After(b.hold.claimedAt)
	}
	return a.ID < b.ID
}

// assigned returns the node that is being claimed for a claimant.
func (w *world) assigned(who claimID) *node {
	for _, n := range w.nodes.rows {
		if n.hold.state != free && !n.claimed() && n.hold.who.is(who) {
			return n
		}
	}
	return nil
}

// poolsOf are the pools of a key that can be used, and how many cannot because
// they were edited.
func (w *world) poolsOf(key Key, hash string) (usable []*pool, edited int) {
	for _, p := range w.pools.rows {
		switch {
		case !p.ours() || p.keyHash() != hash || !p.writes.dropped.IsZero():
		case p.fits(key):
			usable = append(usable, p)
		default:
			edited++
		}
	}
	return usable, edited
}

// slot returns the pool's record of a node ID.
func (p *pool) slot(nodeID string) *slot {
	at, ok := slices.BinarySearchFunc(p.slots, nodeID, func(s slot, id string) int { return strings.Compare(s.NodeID, id) })
	if !ok {
		return nil
	}
	return &p.slots[at]
}

// owe keeps one time for each node that is on its way.
func (p *pool) owe(pending int, now time.Time) {
	for len(p.owing) < pending {
		p.owing = append(p.owing, now)
	}
	p.owing = p.owing[len(p.owing)-max(0, pending):]
}

// lost counts the places whose instance is gone.
func (p *pool) lost() int {
	n := 0
	for _, s := range p.slots {
		if s.lost {
			n++
		}
	}
	return n
}

// overdue counts the nodes that have been on their way for too long.
func (p *pool) overdue(now time.Time, after time.Duration) int {
	n := 0
	for _, since := range p.owing {
		if now.Sub(since) > after {
			n++
		}
	}
	return n
}
