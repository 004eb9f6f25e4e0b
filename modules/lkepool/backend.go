package lkepool

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
)

// Backend is a platform that offers pools of nodes and nothing finer than
// "make this pool larger". It decides nothing. All methods are safe for
// concurrent use, return *Error, and honour the context.
type Backend interface {
	Reader
	Writer
	Rules
}

// Reader reads the platform's state. Its answers may be out of date, answers of
// Pool and Instance by at most Config.SettleTime.
type Reader interface {
	// Pools lists all pools of the cluster, pools of other owners included, so
	// that their nodes are recognised and left alone. Instances lists the
	// cluster's instances. Neither sends a request for each node.
	Pools(ctx context.Context) ([]Pool, error)
	Instances(ctx context.Context) ([]Instance, error)
	// Pool and Instance read one object. They return KindNotFound only for a 404.
	Pool(ctx context.Context, id int) (Pool, error)
	Instance(ctx context.Context, id int) (Instance, error)
}

// Writer changes the platform's state. Error.Effect of a failure records the known effect of
// the change. Each call sends at most one request that may have an effect, because an
// earlier request without an answer may take effect after a later request. It sends this
// request before the time in [SendBefore].
type Writer interface {
	// Create makes a pool of spec.Count nodes.
	Create(ctx context.Context, spec PoolSpec) (Pool, error)
	// Scale sets the pool's count, and returns the pool as stored, with its nodes.
	Scale(ctx context.Context, poolID, count int) (Pool, error)
	// Mark replaces the instance's tags and returns the instance as stored.
	Mark(ctx context.Context, instanceID int, tags []string) (Instance, error)
	// TagPool replaces the pool's tags and returns the pool as stored.
	TagPool(ctx context.Context, poolID int, tags []string) (Pool, error)
	// Remove removes one node and lowers the pool's count by one. A node that
	// is gone already is no error.
	Remove(ctx context.Context, poolID int, nodeID string) error
	// Drop deletes a pool and all of its nodes. A pool that is gone already is
	// no error.
	Drop(ctx context.Context, poolID int) error
}

// WithSendBefore returns the context of a write that may be sent until the given time.
func WithSendBefore(ctx context.Context, before time.Time) context.Context {
	return effects.WithSendBefore(ctx, before)
}

// SendBefore returns the time until which the request of a write may be sent, and
// false if there is no bound. A Backend that waits, for example for a rate limit,
// checks the time after the wait.
func SendBefore(ctx context.Context) (before time.Time, bounded bool) {
	return effects.SendBefore(ctx)
}

// Rules are the platform's limits, known without a request.
type Rules interface {
	Limits() Limits
	// Check refuses a key that the platform would refuse: KindInvalid.
	Check(key Key) error
	// ReservedTag reports whether the platform itself sets and needs this tag.
	ReservedTag(tag string) bool
}

// PoolSpec describes a pool to be created.
type PoolSpec struct {
	Key   Key
	Tags  []string
	Count int
}
