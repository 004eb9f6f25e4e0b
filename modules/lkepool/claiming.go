package lkepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// A pass's part that writes claims: it reserves matched nodes, tags them, and
// follows each answer.

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
	var mu sync.Mutex
	ctx, cancel := finishing(ctx)
	defer cancel()
	each(pairs, writers, func(pair plan.Pair) {
		node, err := p.markOne(ctx, pair)
		mu.Lock()
		defer mu.Unlock()
		p.report.Calls++
		p.marked(pair, node, err)
	})
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
