package lkepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	// read everything.
	again  bool
	report Pass
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

// reserve keeps the matched nodes from everybody else.
func (p *passing) reserve(pairs []plan.Pair) []plan.Pair {
	return slices.DeleteFunc(pairs, func(pair plan.Pair) bool {
		if p.a.ledger.reserve(pair.InstanceID, pair.Claimant, p.q.hash, p.began) {
			return false
		}
		p.left, p.again = append(p.left, pair.Claimant), true
		return true
	})
}

// mark writes the claims, several at a time.
func (p *passing) mark(ctx context.Context, pairs []plan.Pair) {
	const writers = 64
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, writers)
	)
	ctx, cancel := finishing(ctx)
	defer cancel()
	for _, pair := range pairs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			node, err := p.markOne(ctx, pair)
			mu.Lock()
			defer mu.Unlock()
			p.report.Calls++
			p.marked(pair, node, err)
		})
	}
	group.Wait()
}

var (
	// errStolen: a node that a list showed as free is claimed.
	errStolen = errors.New("the instance is claimed already")
	// errDeparted: the claimant no longer waits, so nothing was written.
	errDeparted = errors.New("the claimant left")
)

func (p *passing) markOne(ctx context.Context, pair plan.Pair) (Node, error) {
	a := p.a
	if !a.awaits(pair.Claimant) {
		return Node{}, errDeparted
	}
	unlock, err := a.instances.Lock(ctx, pair.InstanceID)
	if err != nil {
		return Node{}, &Error{Kind: KindRateLimited, Op: "claim", Err: err}
	}
	defer unlock()
	pool, member := p.view.member(pair.InstanceID)
	tags := member.Tags
	if a.settling() {
		// The list may be older than a claim of the process before this one.
		fresh, err := a.backend.Instance(ctx, pair.InstanceID)
		if err != nil {
			return Node{}, definite(err)
		}
		if claim := claimOf(fresh.Tags); claim != "" && claim != pair.Claimant {
			return Node{}, errStolen
		}
		tags = fresh.Tags
	}
	now := a.cfg.Clock.Now()
	stored, err := a.backend.Mark(ctx, pair.InstanceID, claimTags(tags, p.byWant[pair.Claimant].request, now))
	if err != nil {
		return Node{}, err
	}
	if claim := claimOf(stored.Tags); claim != pair.Claimant {
		return Node{}, &Error{
			Kind: KindUnavailable, Op: "claim", PoolID: pool.ID, Ambiguous: true,
			Err: fmt.Errorf("instance %d was written with claim %q and answered with %q", pair.InstanceID, pair.Claimant, claim),
		}
	}
	return a.node(pool, member.NodeID, stored), nil
}

// definite marks the failure of a read before a write: nothing was written.
func definite(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == KindNotFound {
		return err
	}
	return &Error{Kind: KindRateLimited, Op: "claim", Err: err}
}

// marked follows one write of a claim.
func (p *passing) marked(pair plan.Pair, node Node, err error) {
	ledger, now := p.a.ledger, p.a.cfg.Clock.Now()
	switch {
	case err == nil:
		ledger.confirm(node, p.q.hash, now)
		p.report.Claimed++
		p.a.deliver(p.q, pair.Claimant, node, nil)
		return
	case errors.Is(err, errDeparted):
		ledger.unreserve(pair.InstanceID)
		return
	case mayHaveHappened(err) && !errors.Is(err, errStolen):
		ledger.doubt(pair.InstanceID, now)
		p.parked++
	default:
		ledger.unreserve(pair.InstanceID)
		p.left = append(p.left, pair.Claimant)
	}
	p.again = true
	switch KindOf(err) {
	case KindInvalid, KindForbidden:
		// Another node would be refused for the same reason.
		p.a.deliver(p.q, pair.Claimant, Node{}, err)
		p.left = slices.DeleteFunc(p.left, func(claim string) bool { return claim == pair.Claimant })
	}
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

// member finds an instance in the key's pools.
func (v view) member(instanceID int) (Pool, Member) {
	for _, pool := range v.pools {
		for _, member := range pool.Members {
			if member.ID == instanceID {
				return pool, member
			}
		}
	}
	return Pool{}, Member{Instance: Instance{ID: instanceID}}
}
