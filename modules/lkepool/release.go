package lkepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// Release removes an instance for good. nil means that the platform accepted
// the removal, or had accepted it before; the instance may exist for a while.
// KindNotFound means that it does not exist, proven by a 404.
//
// The node goes by its name; a pool's count is never lowered by number, because
// the platform would choose who goes. A pool goes with its last node.
func (a *Allocator) Release(ctx context.Context, instanceID int) error {
	if instanceID <= 0 {
		return invalid("release", "instanceID", "%d is not an instance ID", instanceID)
	}
	pool, ok := a.ledger.home(instanceID)
	if !ok && !a.ledger.hasLeft(instanceID) {
		if _, err := a.reads.Do(ctx); err != nil {
			return asError("release", err)
		}
		pool, ok = a.ledger.home(instanceID)
	}
	if !ok || a.ledger.hasLeft(instanceID) {
		return a.absent(ctx, instanceID)
	}
	if !pool.ours() {
		return notOurs("release", instanceID, pool.ID)
	}
	return a.leave(ctx, pool.keyHash(), instanceID)
}

// leave hands a removal to the worker of the key, which serves all at once.
func (a *Allocator) leave(ctx context.Context, hash string, instanceID int) error {
	r := &removal{instanceID: instanceID, joined: a.cfg.Clock.Now(), done: make(chan error, 1)}
	a.mu.Lock()
	q := a.queueLocked(hash)
	q.removals = append(q.removals, r)
	a.startLocked(ctx, q)
	a.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		a.dismissed(q, r, nil)
		return &Error{Kind: KindProvisioning, Op: "release", Err: context.Cause(ctx)}
	}
}

// dismissed answers a removal and takes it out of the queue.
func (a *Allocator) dismissed(q *queue, r *removal, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := slices.Index(q.removals, r); at >= 0 {
		q.removals = slices.Delete(q.removals, at, at+1)
		r.done <- err
	}
	a.leftLocked(q, "")
}

// dismiss serves the removals of a queue. The caller holds the key's lock.
func (a *Allocator) dismiss(ctx context.Context, q *queue) {
	a.mu.Lock()
	removals := slices.Clone(q.removals)
	a.mu.Unlock()
	if len(removals) == 0 {
		return
	}
	byPool := map[int][]int{}
	for _, r := range removals {
		pool, _ := a.ledger.home(r.instanceID)
		if !slices.Contains(byPool[pool.ID], r.instanceID) {
			byPool[pool.ID] = append(byPool[pool.ID], r.instanceID)
		}
	}
	outcome := map[int]error{}
	for poolID, ids := range byPool {
		for id, err := range a.evict(ctx, q, poolID, ids) {
			outcome[id] = err
		}
	}
	for _, r := range removals {
		a.dismissed(q, r, outcome[r.instanceID])
	}
}

// evict removes instances of one pool, and the pool when nothing remains of
// it. It returns an outcome for each. The caller holds the key's lock.
func (a *Allocator) evict(ctx context.Context, q *queue, poolID int, ids []int) map[int]error {
	e := &eviction{a: a, q: q, poolID: poolID, outcome: map[int]error{}}
	ctx, cancel := finishing(ctx)
	defer cancel()
	fresh, err := a.poolOf(ctx, poolID)
	if err != nil {
		for _, id := range ids {
			e.outcome[id] = err
		}
		return e.outcome
	}
	var targets []int
	for _, id := range ids {
		if _, listed := fresh.slot(id); listed && !a.ledger.hasLeft(id) {
			targets = append(targets, id)
		} else {
			e.outcome[id] = a.absent(ctx, id)
		}
	}
	slices.Sort(targets)
	// What the view says of this pool is out of date from here on.
	a.outdate(q)
	q.scaled = nil
	removal := plan.Remove(fresh.Count, targets)
	e.byNode(ctx, fresh, removal.ByNode)
	if removal.Last != 0 {
		e.outcome[removal.Last] = e.last(ctx, removal.Last)
	}
	return e.outcome
}

// poolOf reads a pool, and one that does not exist, or that nobody knows, as one
// without nodes.
func (a *Allocator) poolOf(ctx context.Context, poolID int) (Pool, error) {
	if poolID == 0 {
		return Pool{}, nil
	}
	pool, err := a.backend.Pool(ctx, poolID)
	switch {
	case KindOf(err) == KindNotFound:
		a.ledger.poolDropped(poolID, a.cfg.Clock.Now())
		return Pool{}, nil
	case err != nil:
		return Pool{}, asError("release", err)
	case !pool.ours():
		return Pool{}, &Error{Kind: KindConflict, Op: "release", PoolID: poolID, Err: errors.New("the pool does not carry our tags any more")}
	}
	return pool, nil
}

type eviction struct {
	a      *Allocator
	q      *queue
	poolID int

	mu      sync.Mutex
	outcome map[int]error
}

// byNode removes nodes, several at a time.
func (e *eviction) byNode(ctx context.Context, pool Pool, ids []int) {
	const writers = 16
	count := pool.Count
	each(ids, writers, func(id int) {
		nodeID, _ := pool.slot(id)
		err := e.a.backend.Remove(ctx, pool.ID, nodeID)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.outcome[id] = asError("release", err)
		if err == nil {
			count--
			e.a.ledger.removed(id, pool.ID, count, e.a.cfg.Clock.Now())
		} else {
			e.a.ledger.unsized(pool.ID)
		}
	})
}

// last removes the instance that all others of its pool have left, with the
// pool if that is so. What the pool says now counts, not what was computed.
func (e *eviction) last(ctx context.Context, id int) error {
	a := e.a
	pool, err := a.poolOf(ctx, e.poolID)
	if err != nil {
		return err
	}
	nodeID, listed := pool.slot(id)
	if !listed {
		return a.absent(ctx, id)
	}
	if pool.Count > 1 {
		e.byNode(ctx, pool, []int{id})
		return e.outcome[id]
	}
	if pool.Count != 1 || len(pool.Slots) != 1 {
		return &Error{
			Kind: KindProvisioning, Op: "release", PoolID: pool.ID,
			Err: fmt.Errorf("the pool has count %d and lists %d nodes, %s among them; it has not settled", pool.Count, len(pool.Slots), nodeID),
		}
	}
	if a.awaited(e.q) {
		return &Error{
			Kind: KindProvisioning, Op: "release", PoolID: pool.ID,
			Err: errors.New("the last node of a pool goes with the pool, and somebody waits for a node of this key"),
		}
	}
	if err := a.backend.Drop(ctx, pool.ID); err != nil {
		return asError("release", err)
	}
	now := a.cfg.Clock.Now()
	a.ledger.removed(id, pool.ID, 0, now)
	a.ledger.poolDropped(pool.ID, now)
	return nil
}

// absent says what it means that no pool lists an instance: NotFound on a 404;
// nil if its removal is under way.
func (a *Allocator) absent(ctx context.Context, instanceID int) error {
	instance, err := a.backend.Instance(ctx, instanceID)
	if err != nil {
		return asError("release", err)
	}
	switch {
	case instance.Foreign:
		return notOurs("release", instanceID, instance.PoolID)
	case a.ledger.hasLeft(instanceID) || instance.State == Leaving:
		return nil
	case a.limits.NodesLag && instance.PoolID != 0:
		return a.unlisted(ctx, instance)
	case claimOf(instance.Tags) == "":
		return notOurs("release", instanceID, instance.PoolID)
	}
	// Its removal is under way, or the list that lacked it is out of date. The
	// next call knows.
	return &Error{
		Kind: KindProvisioning, Op: "release",
		Err: fmt.Errorf("no pool lists instance %d, and it exists", instanceID),
	}
}

// unlisted is about an instance that names a pool which does not list it: it is
// too young, or on its way out. Only the former may be reported as pending.
func (a *Allocator) unlisted(ctx context.Context, instance Instance) error {
	pool, err := a.backend.Pool(ctx, instance.PoolID)
	switch {
	case KindOf(err) == KindNotFound:
		return nil
	case err != nil:
		return asError("release", err)
	case !pool.ours():
		return notOurs("release", instance.ID, pool.ID)
	}
	return &Error{
		Kind: KindProvisioning, Op: "release", PoolID: pool.ID,
		Err: fmt.Errorf("the pool does not list instance %d yet, so its node cannot be named", instance.ID),
	}
}

func notOurs(op string, instanceID, poolID int) *Error {
	return &Error{
		Kind: KindConflict, Op: op, PoolID: poolID,
		Err: fmt.Errorf("instance %d is not in a pool of this cluster that carries our tags", instanceID),
	}
}

// asError makes a *Error of whatever a read returned, contexts' errors
// included, and a nil interface of nil.
func asError(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Kind: KindUnavailable, Op: op, Err: err}
}
