package belief

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// lastFailure is the last failure that may end by itself.
type lastFailure struct {
	op  event.Op
	err error
	at  time.Time
}

// note remembers failures that may end by themselves, for callers whose time
// ends meanwhile.
func (b *Belief) note(d event.Done) {
	if d.Cancelled {
		return
	}
	switch kind := claims.KindOf(d.Err); {
	case kind == claims.KindRateLimited || kind == claims.KindUnavailable:
		b.lastFailure = lastFailure{op: d.Action.Op, err: d.Err, at: b.now}
	case b.lastFailure.op == d.Action.Op:
		b.lastFailure = lastFailure{}
	}
}

// silence returns an error about the oldest request that has had no answer for
// long, nil if there is none. Creations count for the given keys alone.
func (b *Belief) silence(keys map[string]bool) error {
	var oldest time.Time
	what := event.Op("")
	consider := func(busy bool, since time.Time, op event.Op) {
		if busy && b.now.Sub(since) >= tuning.SilentAfter && (what == "" || since.Before(oldest)) {
			oldest, what = since, op
		}
	}
	consider(b.PoolList.Busy, b.PoolList.tried, event.OpListPools)
	consider(b.InstanceList.Busy, b.InstanceList.tried, event.OpListInstances)
	for hash, k := range b.Purchases.Keys {
		consider(keys[hash] && k.Creating > 0, k.began, event.OpCreate)
	}
	for _, p := range b.Pools.Rows {
		consider(p.Direct.Busy, p.Direct.Tried, event.OpGetPool)
		consider(p.Writes.Growing(), p.Writes.began, event.OpScale)
	}
	for _, p := range b.Absent.Pools.Rows {
		consider(p.Direct.Busy, p.Direct.Tried, event.OpGetPool)
	}
	for _, n := range b.Nodes.Rows {
		consider(n.Direct.Busy, n.Direct.Tried, event.OpGetInstance)
		consider(n.Written(), n.Claim.At, event.OpMark)
	}
	if what == "" {
		return nil
	}
	return &claims.Error{Kind: claims.KindUnavailable, Op: string(what), Err: fmt.Errorf("no answer for %s", b.now.Sub(oldest))}
}

// Trouble returns why callers may have waited in vain: the last failure, if it was
// lately, or a request of long ago without an answer.
func (b *Belief) Trouble(keys map[string]bool) error {
	why := b.silence(keys)
	if t := b.lastFailure; t.err != nil && b.now.Sub(t.at) <= max(tuning.LongestRetry, claims.RetryAfterOf(t.err))+tuning.SilentAfter {
		why = t.err
	}
	return why
}
