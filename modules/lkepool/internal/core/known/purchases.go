package known

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// Key has the record of the purchases for one key.
type Key struct {
	// room bounds the next purchase after a refusal for a limit; 0 is no bound.
	room int
	// notBefore is the time before which nothing is bought for the key, because readings may not show an unanswered purchase yet.
	notBefore time.Time
	// joins counts the nodes in a row that did not join.
	joins pacing.Record
}

// Room bounds the next purchase; 0 is no bound.
func (k Key) Room() int { return k.room }

// NotBefore is the time from which on readings show the last unanswered purchase, the zero time without one.
func (k Key) NotBefore() time.Time { return k.notBefore }

// Joins counts the nodes in a row that did not join.
func (k Key) Joins() pacing.Record { return k.joins }

// keyed returns the record of a key, by its hash: to compute a hash costs more than everything else that an event needs.
func (k *purchases) keyed(hash string) *Key {
	key, ok := k.keys[hash]
	if !ok {
		key = &Key{}
		k.keys[hash] = key
	}
	return key
}

// lostCreation is a creation without an answer. Its nodes count for the ceilings until a list shows a pool of its key, or has to
// show it.
type lostCreation struct {
	hash, instanceType string
	nodes              int
	until              time.Time
}

// foundPool ends one lost creation for the key of a new pool, unless the pool may come from an answered creation or from one under
// way.
func (k *purchases) foundPool(p *Pool, creating bool) {
	same := func(l lostCreation) bool { return l.hash == p.hash && l.nodes == p.rec.Value.Count }
	at := slices.IndexFunc(k.lost, same)
	if at < 0 {
		at = slices.IndexFunc(k.lost, func(l lostCreation) bool { return l.hash == p.hash })
	}
	if at >= 0 && p.rec.Origin != record.Arrived && !creating {
		k.lost = slices.Delete(k.lost, at, at+1)
	}
}

// lostFor counts the creations for a key that were not answered, and that no list has shown.
func (k *purchases) lostFor(hash string) (n int) {
	for _, l := range k.lost {
		if l.hash == hash {
			n++
		}
	}
	return n
}

// forgetKeys forgets, after a list of pools, keys that nothing refers to any more.
func (k *Known) forgetKeys() {
	used := map[string]bool{}
	for _, p := range k.pools.rows {
		used[p.hash] = true
	}
	k.lost = slices.DeleteFunc(k.lost, func(l lostCreation) bool { return !k.pool.began.Before(l.until) })
	maps.DeleteFunc(k.keys, func(hash string, key *Key) bool {
		r := k.request(Target{Op: event.OpCreate, Name: hash})
		return !used[hash] && r.Busy == 0 && key.joins.InARow == 0 &&
			k.now.Sub(latest(key.notBefore, r.Ended)) > tuning.GoneMemory
	})
}

// refused has the failures of writes of claims, for all instances together.
type refused struct {
	// err is why the API refused a write as forbidden or invalid, nil if it did not. Then one write is tried at next, and after pauses
	// that grow.
	err   error
	pause time.Duration
	next  time.Time
	// failing counts the instances whose tags could not be written, since the last successful write of tags.
	failing int
}

// general reports whether the tags of so many instances cannot be written that another instance would not help.
func (r *refused) general() bool { return r.failing >= tuning.HopelessLimit }

// failed notes a failed write of tags. times is how many writes to this instance failed in a row.
func (r *refused) failed(d event.Done, times int, who claims.ClaimID, now time.Time) (news News) {
	kind := claims.KindOf(d.Err)
	if times == tuning.MarkAttempts && kind != claims.KindRateLimited && kind != claims.KindForbidden && kind != claims.KindNotFound {
		r.failing++
		r.longer(now)
	}
	if kind != claims.KindForbidden && kind != claims.KindInvalid {
		return News{}
	}
	if r.err == nil || !now.Before(r.next) {
		r.longer(now)
	}
	r.err = d.Err
	return News{MarkRefused: d.Err, Claimant: who}
}

// longer doubles the pause before the next attempt.
func (r *refused) longer(now time.Time) {
	r.pause = min(max(2*r.pause, tuning.FirstProbe), tuning.LongestProbe)
	r.next = now.Add(r.pause)
}

// probe notes the one attempt that is made while tags are refused. The next attempt comes after the pause.
func (r *refused) probe(now time.Time) {
	if r.err != nil || r.general() {
		r.next = now.Add(r.pause)
	}
}
