package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
)

// doubtTTL is the time for which a missing object or an error is remembered. It is short, because a user may be about to correct the
// cause, and long enough that events do not become requests.
const doubtTTL = 20 * time.Second

// A reader returns the object with an ID, from an answer that is at most as old as age. It returns nil without an error if the API has
// answered that the object does not exist.
type reader[K comparable, V any] func(ctx context.Context, id K, age time.Duration) (*V, error)

type answer[V any] struct {
	found *V // nil: the object does not exist, or the read failed
	err   error
	read  time.Time
}

// remembered returns a reader that remembers each found object for ttl, and calls read if it remembers no answer or an older one than the
// caller accepts. It holds no lock while it reads.
func remembered[K comparable, V any](ttl time.Duration, read func(context.Context, K) (*V, error)) reader[K, V] {
	answers, reading := cache.NewExpiring(), &singleflight.Group{}
	return func(ctx context.Context, id K, age time.Duration) (*V, error) {
		result, _, _ := reading.Do(fmt.Sprint(id, age), func() (any, error) {
			if known, ok := answers.Get(id); ok && time.Since(known.(answer[V]).read) <= age { //nolint:forcetypeassert // set below
				return known, nil
			}
			began := time.Now()
			found, err := read(ctx, id)
			a, lasts := answer[V]{found, err, began}, ttl
			if err != nil || found == nil {
				a, lasts = answer[V]{nil, missing(err), began}, min(ttl, doubtTTL)
			}
			if !errors.Is(err, context.Canceled) { // a caller that gives up proves nothing about the object
				answers.Set(id, a, lasts)
			}
			return a, nil
		})
		a := result.(answer[V]) //nolint:forcetypeassert // the function above returns nothing else
		return a.found, a.err
	}
}

// missing turns an error of the API into an error for package status: nil for a proven absence. A token that the API does not accept
// (401) proves nothing about the object. A token without the scope to read it (403) is a finding.
func missing(err error) error {
	switch linode.KindOf(err) {
	case linode.KindNotFound:
		return nil
	case linode.KindForbidden:
		return fmt.Errorf("%w: %w", status.ErrForbidden, err)
	}
	return err
}
