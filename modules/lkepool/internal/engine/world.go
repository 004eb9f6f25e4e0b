package engine

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// world holds what is known of the cluster: nodes, pools and claims, and nothing
// else. The merge files alone change what it contains about the platform.
type world struct {
	nodes table[*node]
	pools table[*pool]
	// named are the pools that instances name and no reading has shown.
	named  table[*namedPool]
	claims []*claim
	index  index
	// goneNodes and gonePools record the objects that were proven gone, pools with
	// when: late lists show them again.
	goneNodes map[int]ended
	gonePools map[int]time.Time
}

// ended is an instance that was proven gone. removed: by this process.
type ended struct {
	removed bool
	// at is when that was proven, shown when the newest reading of a pool began that
	// still lists it.
	at, shown time.Time
}

// node is one instance.
type node struct {
	lkepool.Instance
	// home is the pool that it belongs to, 0 for none that is known, and slot
	// the node ID under which that pool lists it.
	home int
	slot string
	// detached is since when its pool has not listed it any more.
	detached time.Time
	claim    claimState
	// tagged is when the reading or write began that Tags come from; the zero
	// time for an instance that only a slot has named so far.
	tagged time.Time
	// arrived: this process saw it come, so no earlier one can have claimed it.
	arrived bool
	// first and last are when it was first seen, and when the newest reading
	// began that showed it.
	first, last time.Time
	absence     absence
	direct      directRead
	removal     removal
}

// claimState is the claim on an instance.
type claimState struct {
	who   claims.ClaimID
	state claimPhase
	// at is when the state began, since when this claimant was first seen here.
	at, since time.Time
	// claimedAt holds the time in the instance's tag.
	claimedAt time.Time
	// own: this process made the claim. wrote: it wrote the tags, which may have
	// been claimed before. stripped: a reading lacks the claim's tag.
	// witnessed: it was looked up in the caller's own records.
	own, wrote, stripped, witnessed bool
	// given: its claimant got it as an answer of this process.
	given bool
	// lacking: a reading since the write that was not answered lacks the claim.
	lacking bool
	// failed counts failed writes in a row that were the instance's fault, err is
	// the last failure, and retry the pause after it.
	failed int
	err    error
	retry  backoff
}

// freed is the claimState of an instance that has no claimant any more.
func (h claimState) freed(now time.Time) claimState {
	return claimState{at: now, failed: h.failed, err: h.err, retry: h.retry}
}

// written reports whether a write of the claim is under way.
func (h claimState) written() bool { return h.state == writing || h.state == rewriting }

type claimPhase int

const (
	free claimPhase = iota
	// reserved: chosen for a claimant, nothing is written yet.
	reserved
	// writing: the write is under way. rewriting: so it is, and an earlier one has
	// failed with an effect that is not known.
	writing
	rewriting
	// unsure: the write failed, and its effect is not known.
	unsure
	// held: a write's answer or a reading showed the claim.
	held
)

// absence records when readings lacked an object.
type absence struct {
	// since is when the first list without it began, proof when the first
	// direct read began that answered 404, and second when one did that began the
	// settle time after it.
	since, proof, second time.Time
	// lacks is when the newest reading of what contains the object began that
	// lacks it, and cannot be older than the object.
	lacks time.Time
}

// proven reports whether the object is gone: two direct 404s the settle time apart
// and a later reading of what contains it, or an accepted removal and either a second
// 404 or such a reading.
func (a absence) proven(removed time.Time) bool {
	twice, lacks := !a.second.IsZero(), !a.lacks.IsZero() && !a.proof.IsZero()
	if !removed.IsZero() {
		return twice || lacks && !a.lacks.Before(removed)
	}
	return twice && lacks && !a.lacks.Before(a.second)
}

// directRead is the last direct read of an object.
type directRead struct {
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
func (l *directRead) failing() bool {
	return l.retry.failed >= markAttempts && claims.KindOf(l.err) != claims.KindRateLimited
}

// removal is this process's attempt to remove an instance.
type removal struct {
	// condemned: a removal was sent that the platform may have carried out, or may
	// still carry out. That never ends, and the instance is not handed out again.
	condemned bool
	retry     backoff
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
	lkepool.Pool
	// first is when it was first seen.
	first time.Time
	// hash is that of the key which the pool was made for, "" for one of another
	// owner.
	hash  string
	slots []slot
	// made is when this process created it, the zero time for one that it found.
	made time.Time
	// last is when the newest reading began that showed it.
	last    time.Time
	absence absence
	direct  directRead
	writes  poolWrites
	// pending has the time since when each node that is on its way has been.
	pending []time.Time
	lowered lowering
	// witnessed: all of its slots are known from a reading of this leadership.
	witnessed bool
	// unsettled is since when it has had more members than its count.
	unsettled time.Time
}

// namedPool is a pool that is known by its ID alone. gone: that it does not exist
// is proven.
type namedPool struct {
	absence absence
	direct  directRead
	gone    bool
}

// slot is the position of one node in a pool, as last seen.
type slot struct {
	lkepool.Slot
	seen time.Time
	// vacant is since when it has been without an instance. lost: it had one,
	// and whether the platform replaces that is not known.
	vacant time.Time
	lost   bool
}

// poolWrites are the writes under way for a pool.
type poolWrites struct {
	growing, dropping bool
	// condemned: a deletion was sent that the platform may have carried out, or may
	// still carry out. That never ends, and nothing of the pool is used any more.
	condemned bool
	frozen    freeze
	removing  int
	retry     backoff
	// began is when the newest one that raises the count was sent, dropped when
	// the deletion of the pool was accepted.
	began, dropped time.Time
	// grown and shrunk are when writes that raised and lowered the count were
	// answered, unsure when one failed whose effect is not known.
	grown, shrunk, unsure time.Time
}

// freeze is a count that was sent and not answered with success. It may take effect
// for as long as Config.LateEffect, after later writes, so no other one is sent.
type freeze struct {
	count int
	// sent is when the first attempt was, until how long after the last one the
	// count may still take effect.
	sent, until time.Time
	// again: it was sent more than once.
	again bool
}

// lowering counts how often another client lowered the pool's count.
type lowering struct {
	times int
	since time.Time
	// scaled is the count that this process set.
	scaled int
}

// claim is one claimant that waits for a node, or did lately.
type claim struct {
	id      claims.ClaimID
	request lkepool.Request
	hash    string
	// The times of its first call, and of its latest arrival or departure.
	wanted, asked time.Time
	// tokens are its callers that wait; none for one that left and will return.
	tokens []int
}

// backoff is the pause after failures in a row, since the first of them.
type backoff struct {
	failed       int
	since, until time.Time
}

func (b *backoff) fail(now time.Time, first, atLeast time.Duration) {
	if b.failed == 0 {
		b.since = now
	}
	pause := first << min(b.failed, 8)
	b.failed++
	b.until = now.Add(max(min(pause, longestRetry), atLeast))
}
