package lkepool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// pass serves everybody who waits for the key, as far as that is possible now.
// The caller holds the key's lock. A pass never waits for capacity.
func (a *Allocator) pass(ctx context.Context, q *queue) {
	a.mu.Lock()
	key := q.key
	a.mu.Unlock()
	p := &passing{a: a, q: q, key: key, began: a.cfg.Clock.Now(), report: Pass{
		NodePool: key.NodePool, InstanceType: key.InstanceType, KeyHash: q.hash,
	}}
	err := p.run(ctx)
	if err != nil && ctx.Err() != nil && p.view.began.IsZero() {
		// Everybody left, which ended the read: nothing was found out.
		return
	}
	p.finish(err)
}

// passing is the state of one pass.
type passing struct {
	a     *Allocator
	q     *queue
	key   Key
	began time.Time

	view   view
	pools  []plan.Pool
	byWant map[string]*waiter
	// left are the claims that got no node in this pass.
	left []string
	// parked are claims of which it is not known yet whether they have a node.
	parked int
	// matched is how many free nodes were given to somebody.
	matched int
	// again: what was seen is out of date, so the next look must come soon and
	// read everything. blind: it must come at once, because what was seen does
	// not suffice to ask for more.
	again, blind bool
	report       Pass
}

func (p *passing) run(ctx context.Context) error {
	a := p.a
	v, calls, err := a.look(ctx, p.q, p.key)
	p.report.Calls += calls
	if err != nil {
		return p.refuse(p.claimsOf(a.wants(p.q)), &Error{Op: "observe"}, err)
	}
	p.view = v
	p.q.view = v
	p.report.Seen = v.began
	claims := p.claimsOf(a.wants(p.q))
	p.report.Waiting = len(claims)

	claims, retries := p.giveBack(claims)
	p.pools = a.planned(p.view)
	for _, pool := range p.pools {
		p.report.Free += len(plan.Free(pool))
		p.report.Pending += plan.Pending(pool)
	}
	pairs, left := plan.Match(claims, p.pools)
	p.left = left
	p.matched = len(pairs)
	pairs = p.reserve(append(retries, pairs...))

	err = p.scale(ctx)
	p.mark(ctx, pairs)
	return err
}

func (p *passing) claimsOf(wants []*waiter) []string {
	p.byWant = map[string]*waiter{}
	claims := make([]string, 0, len(wants))
	for _, w := range wants {
		p.byWant[w.claim] = w
		claims = append(claims, w.claim)
	}
	return claims
}

// giveBack answers the claimants who have a node already. It returns those who
// have none, and those whose claim has to be written again because nobody
// knows whether the first attempt succeeded.
func (p *passing) giveBack(claims []string) (rest []string, retries []plan.Pair) {
	held := p.a.ledger.holdings()
	for _, claim := range claims {
		m, reserved := held[claim]
		at, seen := p.view.places[claim]
		switch {
		case reserved && m.key == p.q.hash && seen && !at.loose && at.member.ID == m.node.InstanceID:
			retries = append(retries, plan.Pair{Claimant: claim, InstanceID: m.node.InstanceID})
		case reserved || seen && at.loose:
			p.parked++
		case seen:
			node := p.a.node(at.pool, at.member.NodeID, at.member.Instance)
			p.a.ledger.confirm(node, at.pool.keyHash(), p.began)
			p.a.deliver(p.q, claim, node, nil)
			p.report.Returned++
		default:
			rest = append(rest, claim)
		}
	}
	return rest, retries
}

// refuse decides what an error means for those who wait: some will not go away
// by waiting, the others are remembered and told at the deadline.
func (p *passing) refuse(claims []string, about *Error, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: KindUnavailable, Op: about.Op, PoolID: about.PoolID, Err: err}
	}
	switch e.Kind {
	case KindInvalid, KindForbidden, KindConflict, KindInsufficientCapacity, KindQuotaExceeded:
		for _, claim := range claims {
			p.a.deliver(p.q, claim, Node{}, e)
		}
		p.left = slices.DeleteFunc(p.left, func(claim string) bool { return slices.Contains(claims, claim) })
	}
	return e
}

// unwatched is for how long nobody may have looked for two looks to say that the
// same nodes have been pending in between.
const unwatched = 5 * time.Minute

// finish plans the next look and reports.
func (p *passing) finish(err error) {
	a, q, now := p.a, p.q, p.a.cfg.Clock.Now()
	pending := 0
	for _, pool := range p.pools {
		pending += plan.Pending(pool)
	}
	if p.report.ScaledBy > 0 {
		q.pace.Restart()
	}
	pause := q.pace.Next(now, pending, a.cfg.RetryDelay)
	if p.again || err != nil {
		pause = min(pause, a.cfg.RetryDelay)
		a.outdate(q)
	}
	if p.blind {
		pause = 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		pause = max(pause, e.RetryAfter)
	}
	if pending == 0 || pending != q.pending || p.report.ScaledBy > 0 || now.Sub(q.ended) > unwatched {
		q.owed = now
	}
	q.pending = pending

	// Pauses lie between looks, whatever the writes in between took.
	next := later(p.began.Add(pause), now.Add(min(pause, a.cfg.RetryDelay/8)))
	if p.again || err != nil {
		next = now.Add(pause)
	}
	a.mu.Lock()
	q.ended, q.next, q.trouble = now, next, err
	q.spare = p.report.Free - p.matched + pending
	q.watch, q.turn, q.offer = slices.Clone(q.view.pools), q.turn+1, offer{}
	a.mu.Unlock()
	if hook := a.cfg.Observer.Pass; hook != nil {
		p.report.Duration, p.report.Err = now.Sub(p.began), err
		hook(p.report)
	}
}
