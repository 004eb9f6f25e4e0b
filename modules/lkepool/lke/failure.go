package lke

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// verdict is what a kind of the client's errors means here.
type verdict struct {
	kind   lkepool.Kind
	effect lkepool.Effect
}

// verdicts by kind. A request that was answered with a refusal had no effect;
// one without an answer, or answered with a failure of the API's own, may have.
var verdicts = map[linode.Kind]verdict{
	linode.KindInvalid:      {lkepool.KindInvalid, lkepool.EffectNone},
	linode.KindUnauthorized: {lkepool.KindForbidden, lkepool.EffectNone},
	linode.KindForbidden:    {lkepool.KindForbidden, lkepool.EffectNone},
	linode.KindNotFound:     {lkepool.KindNotFound, lkepool.EffectNone},
	linode.KindRateLimited:  {lkepool.KindRateLimited, lkepool.EffectNone},
	linode.KindBusy:         {lkepool.KindUnavailable, lkepool.EffectNone},
	linode.KindMalformed:    {lkepool.KindUnavailable, lkepool.EffectApplied},
}

// failed translates an error of the client.
func failed(op string, poolID int, err error) *lkepool.Error {
	e := &lkepool.Error{Kind: lkepool.KindUnavailable, Op: op, PoolID: poolID, Err: err}
	cause, ok := errors.AsType[*linode.Error](err)
	if !ok {
		return e
	}
	e.RetryAfter, e.Err = cause.RetryAfter, answer{cause: cause}
	if v, known := verdicts[cause.Kind]; known {
		e.Kind, e.Effect = v.kind, v.effect
	}
	if e.Kind == lkepool.KindInvalid && len(cause.Reasons) > 0 {
		e.Field = cause.Reasons[0].Field
	}
	return e
}

// An answer is an error of the client without its kind: the error around it has
// one of its own.
type answer struct{ cause *linode.Error }

func (a answer) Error() string { return a.cause.Detail() }
func (a answer) Unwrap() error { return a.cause }

// unlisted translates the failure of a list. That a cluster does not exist is
// no statement about one instance, and NotFound is for that alone.
func (b *base) unlisted(op string, err error) *lkepool.Error {
	if linode.KindOf(err) == linode.KindNotFound {
		return &lkepool.Error{
			Kind: lkepool.KindConflict, Op: op, Effect: lkepool.EffectNone,
			Err: fmt.Errorf("cluster %d (%s) does not exist: %w", b.cluster.ID, b.cluster.Name, failed(op, 0, err).Err),
		}
	}
	return failed(op, 0, err)
}

// unread is a failed read before a write: the write did not happen.
func unread(op string, err error) *lkepool.Error {
	e := failed(op, 0, err)
	e.Effect = lkepool.EffectNone
	return e
}

// refused translates an error of a request for more nodes. The API has one
// status for everything it refuses and no codes, so its words have to serve; but
// only where the reason can be about the size or the plan.
func (b *base) refused(op string, poolID int, err error) *lkepool.Error {
	e := failed(op, poolID, err)
	cause, ok := errors.AsType[*linode.Error](err)
	if ok && cause.Status == 400 && cause.Kind == linode.KindInvalid {
		if kind := kindOfRefusal(cause.Reasons); kind != "" {
			e.Kind = kind
		}
	}
	if poolID == 0 && e.Kind == lkepool.KindNotFound {
		return b.unlisted(op, err)
	}
	return e
}

// Words by which refusals are told apart. "Account Limit reached. Please open a
// support ticket." was reported; the words for a lack of capacity are not
// known, so several likely ones are listed.
var (
	quotaWords    = []string{"account limit", "limit reached", "limited to", "quota", "exceeds the limit", "support ticket"}
	capacityWords = []string{"capacity", "not available in", "unavailable in", "sold out", "out of stock", "insufficient", "no available hosts"}
)

// sizeFields are the fields of a pool that a lack of capacity or a limit of the
// account can be about; "" is a reason about none.
var sizeFields = []string{"", "type", "count"}

func kindOfRefusal(reasons []linode.Reason) lkepool.Kind {
	for _, reason := range reasons {
		text := strings.ToLower(reason.Reason)
		has := func(word string) bool { return strings.Contains(text, word) }
		switch {
		case !slices.Contains(sizeFields, reason.Field):
		case slices.ContainsFunc(quotaWords, has):
			return lkepool.KindQuotaExceeded
		case slices.ContainsFunc(capacityWords, has):
			return lkepool.KindInsufficientCapacity
		}
	}
	return ""
}

// removed translates the outcome of a removal. What is gone already is removed;
// what the API refuses to remove (a locked pool, the last pool of a Standard
// cluster) needs a person.
func removed(op string, poolID int, err error) error {
	if err == nil || linode.KindOf(err) == linode.KindNotFound {
		return nil
	}
	e := failed(op, poolID, err)
	if e.Kind == lkepool.KindInvalid {
		e.Kind = lkepool.KindConflict
	}
	return e
}
