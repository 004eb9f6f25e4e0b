package lke

import (
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
)

// failed translates an error of the client.
func failed(op string, poolID int, err error) *claims.Error {
	return refusal.Error(op, claims.Object("pool", poolID), err)
}

// unlisted translates the failure of a list. A 404 of a list means that the
// cluster does not exist. It is no KindNotFound, which is a statement about one
// object.
func (b *base) unlisted(op string, err error) *claims.Error {
	if linode.KindOf(err) == linode.KindNotFound {
		return &claims.Error{
			Kind: claims.KindConflict, Op: op, Effect: claims.EffectNone,
			Err: fmt.Errorf("cluster %d (%s) does not exist: %w", b.cluster.ID, b.cluster.Name, failed(op, 0, err).Err),
		}
	}
	return failed(op, 0, err)
}

// unread translates the failure of a read that comes before a write: the write was not sent.
func unread(op string, err error) *claims.Error {
	e := failed(op, 0, err)
	e.Effect = claims.EffectNone
	return e
}

// refused translates an error of a request for more nodes. The API may report a lack
// of capacity or a limit for the size, for the plan, or for no field.
func (b *base) refused(op string, poolID int, err error) *claims.Error {
	e := failed(op, poolID, err)
	for _, reason := range refusal.Of(err).Reasons() {
		if kind := refusal.Shortage(reason, "", "type", "count"); kind != "" {
			e.Kind = kind
			break
		}
	}
	if poolID == 0 && e.Kind == claims.KindNotFound {
		return b.unlisted(op, err)
	}
	return e
}

// removed translates the outcome of a removal. An object that is gone counts
// as removed; an object that the API refuses to remove (a locked pool, the last pool of a Standard
// cluster) needs a person.
func removed(op string, poolID int, err error) error {
	if err == nil || linode.KindOf(err) == linode.KindNotFound {
		return nil
	}
	e := failed(op, poolID, err)
	if e.Kind == claims.KindInvalid {
		e.Kind = claims.KindConflict
	}
	return e
}
