package lkepool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/flight"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/keylock"
)

// Allocator hands out nodes. It is safe for concurrent use, and the only
// writer of the counts of its pools: run one per cluster.
type Allocator struct {
	backend Backend
	cfg     Config
	limits  Limits
	born    time.Time

	ledger *ledger
	reads  *flight.Group[reading]
	polls  *flight.Group[map[*queue]offer]
	// keys serialises what is done to the pools of one key, instances the
	// read-modify-write of one instance's tags. A holder of the former may
	// take the latter, never the reverse.
	keys      keylock.Set[string]
	instances keylock.Set[int]

	mu     sync.Mutex
	queues map[string]*queue
	// lastLook is when the newest read for any queue began, and polling tells
	// which turns of queues the running poll covers.
	lastLook time.Time
	polling  map[*queue]int
	// waiting tells for which key a claim is being waited for.
	waiting map[string]*queue
}

// reading is a full observation, corrected by the ledger, and when it began.
type reading struct {
	Observation
	began time.Time
}

// New returns an Allocator over a backend. It makes no request.
func New(backend Backend, cfg Config) (*Allocator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if backend == nil {
		return nil, invalid("configure", "backend", "is nil")
	}
	a := &Allocator{
		backend: backend, cfg: cfg, limits: backend.Limits(), born: cfg.Clock.Now(),
		ledger: newLedger(cfg.TagVerificationTimeout),
		queues: map[string]*queue{}, waiting: map[string]*queue{},
	}
	a.reads, a.polls = flight.New(a.observe), flight.New(a.pollAll)
	return a, nil
}

// Claim returns a node for the claimant: the one it has already, a free one, or
// one that it makes the platform add. It waits until ctx ends, and then returns
// KindProvisioning, or the kind of what kept it from finding out; capacity that
// was asked for stays, and the next call finds it.
//
// A claimant that has a node already gets it whatever key is asked for, so read
// what the node is from the result, not from the request.
func (a *Allocator) Claim(ctx context.Context, request Request) (Node, error) {
	began := a.cfg.Clock.Now()
	node, err := a.claim(ctx, request)
	if hook := a.cfg.Observer.Claim; hook != nil {
		hook(ClaimEnd{
			NodePool: request.Key.NodePool, InstanceType: request.Key.InstanceType,
			Claimant: request.Claimant, Wait: a.cfg.Clock.Since(began), Err: err,
		})
	}
	return node, err
}

func (a *Allocator) claim(ctx context.Context, request Request) (Node, error) {
	if err := a.check(request); err != nil {
		return Node{}, err
	}
	// A write may end after its claimant has left. When it comes back at once,
	// the answer of that write is as good as reading everything again.
	if node, ok := a.ledger.confirmed(ClaimValue(request.Claimant), confirmedLately, a.cfg.Clock.Now()); ok {
		return node, nil
	}
	q, w, err := a.join(ctx, request)
	if err != nil {
		return Node{}, err
	}
	select {
	case r := <-w.done:
		return r.node, r.err
	case <-ctx.Done():
	}
	why := a.quit(q, w)
	select {
	case r := <-w.done:
		// The answer and the end of the context came together.
		return r.node, r.err
	default:
	}
	return Node{}, overdue(ctx, why)
}

// confirmedLately is how long the answer to a claim's write counts as knowledge.
const confirmedLately = time.Minute

// overdue is the error of a claimant whose context ended. A reason for which
// nothing could be found out is passed on with its kind.
func overdue(ctx context.Context, why error) *Error {
	e := &Error{Kind: KindProvisioning, Op: "claim", Err: fmt.Errorf("no node yet: %w", context.Cause(ctx))}
	if cause, ok := errors.AsType[*Error](why); ok {
		switch cause.Kind {
		case KindRateLimited, KindUnavailable:
			e.Kind, e.PoolID, e.RetryAfter = cause.Kind, cause.PoolID, cause.RetryAfter
			e.Err = fmt.Errorf("%w (%w)", why, context.Cause(ctx))
		}
	}
	return e
}

// observe reads everything and learns from it.
func (a *Allocator) observe(ctx context.Context) (reading, error) {
	began := a.cfg.Clock.Now()
	a.looked(began)
	o, err := a.backend.Observe(ctx)
	if err != nil {
		return reading{}, err
	}
	a.ledger.absorb(o, began)
	o.Pools = a.ledger.correct(o.Pools, began)
	r := reading{Observation: o, began: began}
	a.handReading(r)
	return r, nil
}

// settling says whether writes of an earlier process may still be invisible.
func (a *Allocator) settling() bool {
	return a.cfg.Clock.Now().Before(a.born.Add(a.cfg.TagVerificationTimeout))
}

// writeTimeout bounds a write that its claimant no longer waits for.
const writeTimeout = 2 * time.Minute

// finishing returns a context for a write. A write is not cancelled when those
// who caused it leave, because then nobody would know whether it happened.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}
