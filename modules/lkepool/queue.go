package lkepool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// queue holds those who wait for one key, claimants and removals alike. One
// worker goroutine serves it, which exists only while somebody waits.
type queue struct {
	hash string
	// wake has room for one token: something changed in the queue.
	wake chan struct{}

	// The following is guarded by Allocator.mu.
	key      Key
	waiters  []*waiter
	removals []*removal
	running  bool
	ctx      context.Context
	cancel   context.CancelFunc
	// unmet are claims whose claimant left without a node, and when: it will
	// ask again, and what was bought for it must still be there.
	unmet map[string]time.Time
	// next is when to look again, ended when the last pass ended, spare what
	// it left free or pending, trouble why it failed.
	next    time.Time
	ended   time.Time
	spare   int
	trouble error
	// watch are the pools that the next poll is about, and turn counts the
	// passes. offer is what somebody else's read found meanwhile.
	watch []Pool
	turn  int
	offer offer

	// The following is used under the key's lock only.
	view view
	// outdated is when the view was last dropped: what was read before says
	// nothing about what was done then.
	outdated time.Time
	pace     plan.Pace
	// hold keeps pools from being created while an earlier attempt, whose
	// answer was lost, may still show up.
	hold time.Time
	// scaled are the counts that passes set and no removal has lowered since, or what
	// somebody else lowered them to; lowered counts how often, from lowerings on.
	scaled    map[int]int
	lowered   int
	lowerings time.Time
	// unsettled is since when a pool has had more members than its count.
	unsettled time.Time
	// owed is since when the pools have owed nodes without any arriving.
	owed    time.Time
	pending int
}

// waiter is one call of Claim.
type waiter struct {
	request  Request
	claim    string
	joined   time.Time
	deadline time.Time
	// seen: a pass has considered it.
	seen bool
	done chan result
}

type result struct {
	node Node
	err  error
}

// removal is one call of Release.
type removal struct {
	instanceID int
	joined     time.Time
	done       chan error
}

// gather is how long the first of a burst waits for the rest, so that one pass
// serves them all.
const gather = 50 * time.Millisecond

// join puts a claimant into its key's queue.
func (a *Allocator) join(ctx context.Context, request Request) (*queue, *waiter, error) {
	w := &waiter{
		request: request, claim: ClaimValue(request.Claimant),
		joined: a.cfg.Clock.Now(), done: make(chan result, 1),
	}
	w.deadline, _ = ctx.Deadline()
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queueLocked(request.Key.Hash())
	if other := a.waiting[w.claim]; other != nil && other != q {
		return nil, nil, &Error{
			Kind: KindConflict, Op: "claim", Field: "Request.Key",
			Err: fmt.Errorf("claimant %q is already waiting for a node of another key", request.Claimant),
		}
	}
	a.waiting[w.claim] = q
	q.key = request.Key
	q.waiters = append(q.waiters, w)
	a.startLocked(ctx, q)
	return q, w, nil
}

// quit takes a claimant out of the queue and says why the last pass failed, if
// it did.
func (a *Allocator) quit(q *queue, w *waiter) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.Index(q.waiters, w)
	if at < 0 {
		return nil
	}
	q.waiters = slices.Delete(q.waiters, at, at+1)
	q.unmet[w.claim] = a.cfg.Clock.Now()
	a.leftLocked(q, w.claim)
	return q.trouble
}

// leftLocked follows the departure of a claim's waiter.
func (a *Allocator) leftLocked(q *queue, claim string) {
	if !slices.ContainsFunc(q.waiters, func(w *waiter) bool { return w.claim == claim }) {
		delete(a.waiting, claim)
	}
	if len(q.waiters) == 0 {
		q.offer = offer{}
	}
	if len(q.waiters) == 0 && len(q.removals) == 0 && q.cancel != nil {
		q.cancel()
	}
}

// deliver answers everybody who waits for the claim.
func (a *Allocator) deliver(q *queue, claim string, node Node, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var stay []*waiter
	for _, w := range q.waiters {
		if w.claim != claim {
			stay = append(stay, w)
			continue
		}
		w.done <- result{node: node, err: err}
	}
	q.waiters = stay
	delete(q.unmet, claim)
	a.leftLocked(q, claim)
}

func (a *Allocator) queueLocked(hash string) *queue {
	q, ok := a.queues[hash]
	if !ok {
		q = &queue{hash: hash, wake: make(chan struct{}, 1), unmet: map[string]time.Time{}, pace: plan.Pace{Dense: a.limits.CheapPolls}}
		a.queues[hash] = q
	}
	return q
}

// startLocked makes sure that a worker will notice what was added to the queue.
func (a *Allocator) startLocked(ctx context.Context, q *queue) {
	if !q.running {
		q.running = true
		q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
		go a.work(q)
		return
	}
	if q.ctx.Err() != nil {
		q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// outdate drops what is known of the key's pools. The caller holds the key's lock.
func (a *Allocator) outdate(q *queue) {
	q.view, q.outdated = view{}, a.cfg.Clock.Now()
}

// wants returns one waiter per claim, in the order of arrival, and marks all
// as seen.
func (a *Allocator) wants(q *queue) []*waiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	var wants []*waiter
	claims := map[string]bool{}
	for _, w := range q.waiters {
		w.seen = true
		if !claims[w.claim] {
			claims[w.claim] = true
			wants = append(wants, w)
		}
	}
	return wants
}

// demand counts those who wait, and those who left lately without a node and
// will ask again.
func (a *Allocator) demand(q *queue, within time.Duration) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	claims := map[string]bool{}
	for _, w := range q.waiters {
		claims[w.claim] = true
	}
	for claim, at := range q.unmet {
		if a.cfg.Clock.Since(at) > within {
			delete(q.unmet, claim)
			continue
		}
		claims[claim] = true
	}
	return len(claims)
}

// awaited says whether somebody waits for the key.
func (a *Allocator) awaited(q *queue) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(q.waiters) > 0
}

// awaits says whether the claimant waits for a node of any key.
func (a *Allocator) awaits(claim string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting[claim] != nil
}
