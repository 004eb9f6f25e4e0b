package lkepool

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// mostShut is how many pools of one key may be out of use because somebody
// edited them. Each further attempt would only add one more.
const mostShut = 3

// scale asks for what is missing. Afterwards p.pools hold the new counts.
func (p *passing) scale(ctx context.Context) error {
	pending := 0
	for _, pool := range p.pools {
		pending += plan.Pending(pool)
	}
	// Those who are left got none of the free nodes, so nothing is free.
	deficit := plan.Deficit(len(p.left), 0, pending)
	if pending > 0 && p.stuck(pending) {
		return p.refuse(p.left, &Error{}, &Error{
			Kind: KindInsufficientCapacity, Op: "claim",
			Err: fmt.Errorf("%d nodes have been on their way for over %s", pending, p.a.cfg.PendingTimeout),
		})
	}
	if deficit == 0 {
		return nil
	}
	if p.a.settling() || p.unsettled() {
		// A process before this one may have scaled, unseen as yet; or a pool
		// is about to lose members, and what will be missing is not known.
		p.again = true
		return nil
	}
	if !p.view.whole() {
		// A poll shows what has arrived, and not all that has changed: an
		// instance deleted by hand leaves a place that will be filled again, and
		// a count may have been raised.
		p.again, p.blind = true, true
		return nil
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	for _, step := range plan.Grow(deficit, p.pools, p.a.limits.PoolSize) {
		pool, step, all, err := p.growWithin(ctx, step)
		if err != nil {
			return p.refuse(p.left[min(pending, len(p.left)):], &Error{Op: "scale", PoolID: step.PoolID}, err)
		}
		if pool == nil {
			p.again = true
			return nil
		}
		pending += step.Add
		p.report.ScaledBy += step.Add
		p.view.size(*pool)
		p.q.view = p.view
		p.replan(*pool)
		if !all {
			p.again = true // for the rest, until not even one more fits
			return nil
		}
	}
	return nil
}

// growWithin takes a step, or a part of it that a limit of the account leaves room
// for, and says whether that was all: LKE refuses as a whole what does not fit, and
// does not say how much would, so half is asked for until it fits.
func (p *passing) growWithin(ctx context.Context, step plan.Step) (pool *Pool, taken plan.Step, all bool, err error) {
	for all = true; ; all = false {
		pool, err = p.grow(ctx, step)
		if KindOf(err) != KindQuotaExceeded || step.Add == 1 {
			return pool, step, all, err
		}
		step = step.Half()
	}
}

// grow takes one step. It returns nil without an error when what was seen
// turned out to be out of date, so that nothing was done.
func (p *passing) grow(ctx context.Context, step plan.Step) (*Pool, error) {
	if step.PoolID == 0 {
		return p.create(ctx, step)
	}
	a := p.a
	// Setting a count has no precondition (Linode API facts: PUT of a pool is
	// last writer wins): a count that is too low would take nodes away. So the
	// pool itself is asked right before, and a surprise means to look again.
	fresh, err := a.backend.Pool(ctx, step.PoolID)
	p.report.Calls++
	if KindOf(err) == KindNotFound {
		a.ledger.poolDropped(step.PoolID, a.cfg.Clock.Now())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if fresh.Count != step.Count-step.Add || p.view.misses(fresh) || !fresh.fits(p.key) || !fresh.belongsTo(p.key) {
		a.ledger.sized(fresh, a.cfg.Clock.Now())
		return nil, nil
	}
	if p.opposed(step) {
		return nil, &Error{
			Kind: KindConflict, Op: "scale pool", PoolID: step.PoolID, RetryAfter: a.cfg.OrphanTTL,
			Err: fmt.Errorf("somebody else has lowered the pool's count %d times after it was raised to %d or more", p.q.lowered, step.Count),
		}
	}
	pool, err := a.backend.Scale(ctx, step.PoolID, step.Count)
	p.report.Calls++
	if err != nil {
		if mayHaveHappened(err) {
			a.ledger.unsized(step.PoolID)
		}
		return nil, err
	}
	a.ledger.sized(pool, a.cfg.Clock.Now())
	p.q.noteScaled(pool)
	return &pool, nil
}

const (
	// mostLowered is how often a count that somebody else lowers is raised again,
	// within lowerMemory. Whoever does that has a reason, or is a program.
	mostLowered = 3
	lowerMemory = 10 * time.Minute
)

// opposed notes that a count was lowered by somebody else if the step only asks
// for what the pool had before, and says whether that was once too often. An attempt
// that is refused, or repeated, is not another lowering.
func (p *passing) opposed(step plan.Step) bool {
	q := p.q
	if step.Count > q.scaled[step.PoolID] {
		return false
	}
	if p.began.Sub(q.lowerings) > lowerMemory {
		q.lowered, q.lowerings = 0, p.began
	}
	if q.lowered >= mostLowered {
		return true
	}
	q.lowered++
	q.scaled[step.PoolID] = step.Count - step.Add
	return false
}

func (q *queue) noteScaled(pool Pool) {
	if q.scaled == nil {
		q.scaled = map[int]int{}
	}
	q.scaled[pool.ID] = pool.Count
}

func (p *passing) create(ctx context.Context, step plan.Step) (*Pool, error) {
	a := p.a
	if p.view.shut >= mostShut {
		return nil, &Error{
			Kind: KindConflict, Op: "create pool",
			Err: fmt.Errorf("%d pools of this key do not fit it any more, because their labels, taints, version, firewall or autoscaler were edited: restore or delete them", p.view.shut),
		}
	}
	if a.cfg.Clock.Now().Before(p.q.hold) {
		return nil, nil
	}
	spec := PoolSpec{Key: p.key, Count: step.Count, Tags: poolTags(p.byWant[p.left[0]].request)}
	pool, err := a.backend.Create(ctx, spec)
	p.report.Calls++
	if err != nil {
		if mayHaveHappened(err) {
			// The pool may exist. Creating has no idempotency token, so it is
			// looked for by its tag until it would have to be visible.
			p.q.hold = a.cfg.Clock.Now().Add(a.cfg.TagVerificationTimeout)
		}
		return nil, err
	}
	a.ledger.poolCreated(pool, a.cfg.Clock.Now())
	p.q.noteScaled(pool)
	return &pool, nil
}

// replan puts a pool's new count into the plan.
func (p *passing) replan(pool Pool) {
	for i := range p.pools {
		if p.pools[i].ID == pool.ID {
			p.pools[i].Count = pool.Count
			return
		}
	}
	p.pools = append(p.pools, plan.Pool{ID: pool.ID, Count: pool.Count})
}

// settleGrace is how long a pool with more members than its count keeps its key
// from being scaled.
const settleGrace = 2 * time.Minute

func (p *passing) unsettled() bool {
	for _, pool := range p.pools {
		if plan.Settled(pool) {
			continue
		}
		if p.q.unsettled.IsZero() {
			p.q.unsettled = p.began
		}
		return p.began.Sub(p.q.unsettled) < settleGrace
	}
	p.q.unsettled = time.Time{}
	return false
}

// stuck says whether the pools have owed nodes for too long.
func (p *passing) stuck(pending int) bool {
	q := p.q
	return pending == q.pending && !q.owed.IsZero() && p.began.Sub(q.ended) <= unwatched && p.began.Sub(q.owed) > p.a.cfg.PendingTimeout
}
