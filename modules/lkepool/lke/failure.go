package lke

import (
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// failed translates an error of the client. The kinds of package refusal have the
// words of this module's.
func failed(op string, poolID int, err error) *lkepool.Error {
	v := refusal.Of(err)
	e := &lkepool.Error{Kind: lkepool.Kind(v.Kind), Op: op, PoolID: poolID, Effect: lkepool.Effect(v.Effect), Err: err}
	if v.Cause == nil {
		return e
	}
	e.RetryAfter, e.Err = v.Cause.RetryAfter, answer{cause: v.Cause}
	if e.Kind == lkepool.KindInvalid && len(v.Cause.Reasons) > 0 {
		e.Field = v.Cause.Reasons[0].Field
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

// refused translates an error of a request for more nodes. A lack of capacity or a
// limit can be about the size or the plan, or about no field.
func (b *base) refused(op string, poolID int, err error) *lkepool.Error {
	e := failed(op, poolID, err)
	for _, reason := range refusal.Of(err).Reasons() {
		if kind := refusal.Shortage(reason, "", "type", "count"); kind != "" {
			e.Kind = lkepool.Kind(kind)
			break
		}
	}
	if poolID == 0 && e.Kind == lkepool.KindNotFound {
		return b.unlisted(op, err)
	}
	return e
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
