package lke

import (
	"errors"
	"fmt"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// failed translates an error of the client.
func (b *base) failed(op string, poolID int, err error) error {
	e := &lkepool.Error{Kind: lkepool.KindUnavailable, Op: op, PoolID: poolID, Err: err}
	cause, ok := errors.AsType[*linode.Error](err)
	if !ok {
		return e
	}
	e.RetryAfter = cause.RetryAfter
	switch cause.Kind {
	case linode.KindInvalid:
		e.Kind = lkepool.KindInvalid
		if len(cause.Reasons) > 0 {
			e.Field = cause.Reasons[0].Field
		}
	case linode.KindUnauthorized, linode.KindForbidden:
		e.Kind = lkepool.KindForbidden
	case linode.KindNotFound:
		e.Kind = lkepool.KindNotFound
	case linode.KindRateLimited:
		e.Kind = lkepool.KindRateLimited
	case linode.KindAmbiguous, linode.KindMalformed, linode.KindCanceled:
		e.Ambiguous = true
	}
	return e
}

// unlisted translates the failure of a list. That a cluster does not exist says
// nothing about one instance, and NotFound is for that alone.
func (b *base) unlisted(op string, err error) error {
	if linode.KindOf(err) == linode.KindNotFound {
		return b.noCluster(op, err)
	}
	return b.failed(op, 0, err)
}

func (b *base) noCluster(op string, err error) error {
	return &lkepool.Error{
		Kind: lkepool.KindConflict, Op: op,
		Err: fmt.Errorf("cluster %d (%s) does not exist: %w", b.cluster.ID, b.cluster.Name, err),
	}
}

// unread is a failed read before a write: the write did not happen.
func (b *base) unread(op string, err error) error {
	e, ok := errors.AsType[*lkepool.Error](b.failed(op, 0, err))
	if ok && e.Kind == lkepool.KindUnavailable {
		e.Kind = lkepool.KindRateLimited
	}
	return e
}

// refused translates an error of a request for more nodes. The API has one
// status for everything it refuses and no codes, so its words have to tell.
func (b *base) refused(op string, poolID int, err error) error {
	cause, ok := errors.AsType[*linode.Error](err)
	if ok {
		if kind := kindOfRefusal(cause.Reasons); kind != "" {
			return &lkepool.Error{Kind: kind, Op: op, PoolID: poolID, RetryAfter: cause.RetryAfter, Err: err}
		}
	}
	if poolID == 0 {
		return b.unlisted(op, err)
	}
	return b.failed(op, poolID, err)
}

// Words by which refusals are told apart. "Account Limit reached. Please open a
// support ticket." was reported; the words for a lack of capacity are not
// known, so several likely ones are listed.
var (
	quotaWords    = []string{"account limit", "limit reached", "limited to", "quota", "exceeds the limit", "support ticket"}
	capacityWords = []string{"capacity", "not available in", "unavailable in", "sold out", "out of stock", "insufficient", "no available hosts"}
)

func kindOfRefusal(reasons []linode.Reason) lkepool.Kind {
	for _, reason := range reasons {
		text := strings.ToLower(reason.Reason)
		for _, word := range quotaWords {
			if strings.Contains(text, word) {
				return lkepool.KindQuotaExceeded
			}
		}
		for _, word := range capacityWords {
			if strings.Contains(text, word) {
				return lkepool.KindInsufficientCapacity
			}
		}
	}
	return ""
}

// removed translates the outcome of a removal. What is gone already is removed;
// what the API refuses to remove (a locked pool, the last pool of a Standard
// cluster) needs a person.
func (b *base) removed(op string, poolID int, err error) error {
	if err == nil || linode.KindOf(err) == linode.KindNotFound {
		return nil
	}
	translated := b.failed(op, poolID, err)
	if lkepool.KindOf(translated) == lkepool.KindInvalid {
		return &lkepool.Error{Kind: lkepool.KindConflict, Op: op, PoolID: poolID, Err: err}
	}
	return translated
}
