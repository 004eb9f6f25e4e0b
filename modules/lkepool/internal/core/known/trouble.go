package known

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// lastFailure is the last failure that may end by itself. Callers whose time ends meanwhile get it as the reason.
type lastFailure struct {
	op  event.Op
	err error
	at  time.Time
}

func (f *lastFailure) note(d event.Done, now time.Time) {
	switch kind := claims.KindOf(d.Err); {
	case kind == claims.KindRateLimited || kind == claims.KindUnavailable:
		*f = lastFailure{op: d.Action.Op, err: d.Err, at: now}
	case f.op == d.Action.Op:
		*f = lastFailure{}
	}
}

// Trouble returns why callers may have waited in vain: the last failure, if it is recent, or the oldest request without an answer. An
// unanswered creation counts only if its key is one of the given keys.
func (k *Known) Trouble(keys map[string]bool) error {
	if f := k.failure; f.err != nil && k.now.Sub(f.at) <= max(tuning.LongestRetry, claims.RetryAfterOf(f.err))+tuning.SilentAfter {
		return f.err
	}
	var oldest time.Time
	var op event.Op
	for t, r := range k.requests {
		counts := t.Op != event.OpCreate || keys[t.Name]
		counts = counts && t.Op != event.OpRemove && t.Op != event.OpDrop
		older := op == "" || r.Started.Before(oldest) || r.Started.Equal(oldest) && t.Op < op
		if r.Busy > 0 && counts && older && k.now.Sub(r.Started) >= tuning.SilentAfter {
			oldest, op = r.Started, t.Op
		}
	}
	if op == "" {
		return nil
	}
	return &claims.Error{Kind: claims.KindUnavailable, Op: string(op), Err: fmt.Errorf("no answer for %s", k.now.Sub(oldest))}
}
