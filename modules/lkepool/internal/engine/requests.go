package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// request is a caller that waits for something other than a claim.
type request struct {
	token int
	ask   Ask
	since time.Time
	// wrote is when the write of a change of tags began.
	wrote time.Time
	sweep sweep
}

// admit takes a caller in.
func (c *Core) admit(e Asked) {
	if e.Ask.Kind != AskClaim {
		c.requests = append(c.requests, &request{token: e.Token, ask: e.Ask, since: c.now})
		return
	}
	who, hash := c.tags.ID(e.Ask.Request.Claimant), e.Ask.Request.Key.Hash()
	record := c.world.claimOf(who)
	switch {
	case record == nil:
		record = &claim{id: who, wanted: c.now}
		c.world.admit(record)
	case len(record.tokens) > 0 && record.hash != hash:
		c.answer(e.Token, Answer{Err: &claims.Error{
			Kind: claims.KindConflict, Op: "claim", Field: "Request.Key", Effect: claims.EffectNone,
			Err: fmt.Errorf("claimant %q is already waiting for a node of another key", e.Ask.Request.Claimant.Name),
		}})
		return
	}
	record.request, record.hash, record.asked = e.Ask.Request, hash, c.now
	record.wanted = cmp.Or(record.wanted, c.now)
	record.tokens = append(record.tokens, e.Token)
}

// dismiss answers a caller whose time is over with what is known.
func (c *Core) dismiss(e Left) {
	for _, claim := range c.world.claims {
		at := slices.Index(claim.tokens, e.Token)
		if at < 0 {
			continue
		}
		claim.tokens = slices.Delete(claim.tokens, at, at+1)
		c.answer(e.Token, Answer{Err: c.overdue("claim", "no node yet", e.Cause)})
		claim.asked = c.now
		if len(claim.tokens) == 0 {
			c.unreserve(claim)
		}
		return
	}
	at := slices.IndexFunc(c.requests, func(r *request) bool { return r.token == e.Token })
	if at < 0 {
		return
	}
	r := c.requests[at]
	c.requests = slices.Delete(c.requests, at, at+1)
	c.answer(e.Token, Answer{Collected: r.sweep.collected, Err: c.overdue(r.ask.Kind.String(), "not done yet", e.Cause)})
}

// overdue is the error of a caller whose context ended. What keeps the engine
// from reading or writing is passed on with its kind.
func (c *Core) overdue(op, what string, cause error) *claims.Error {
	e := &claims.Error{Kind: claims.KindProvisioning, Op: op}
	why := c.silence()
	if t := c.lastFailure; t.err != nil && c.now.Sub(t.at) <= max(longestRetry, claims.RetryAfterOf(t.err))+silentAfter {
		why = t.err
	}
	if why != nil {
		e.Kind, e.RetryAfter = claims.KindOf(why), claims.RetryAfterOf(why)
	}
	e.Err = late{what, why, cause}
	return e
}

// deliver answers all callers that wait for the claim, and forgets it.
func (c *Core) deliver(claim *claim, node lkepool.Node, err error) {
	for _, token := range claim.tokens {
		c.answer(token, Answer{Node: node, Err: err})
	}
	claim.tokens, claim.asked = nil, time.Time{}
	if err != nil { // it may call again, as a new claimant
		claim.wanted, claim.asked = time.Time{}, c.now
	}
	c.unreserve(claim)
}

// unreserve gives up the instances that were chosen for a claimant which does
// not wait any more.
func (c *Core) unreserve(claim *claim) {
	for _, n := range c.world.nodesOf(claim.id.Value) {
		if n.claim.state == reserved && n.claim.who.Is(claim.id) {
			n.claim = n.claim.freed(c.now)
		}
	}
}

// refuse answers claimants with an error.
func (c *Core) refuse(claims []*claim, err error) {
	for _, claim := range claims {
		c.deliver(claim, lkepool.Node{}, err)
	}
}

// forgetClaims drops claims that were answered, and those whose claimant has
// not come back for as long as what was bought for it is kept.
func (c *Core) forgetClaims() {
	c.world.forgetClaims(func(claim *claim) bool {
		return len(claim.tokens) == 0 && c.now.Sub(claim.asked) > c.cfg.OrphanTTL
	})
}

func (k AskKind) String() string {
	return [...]string{"claim", "get", "release", "set tags", "list", "collect", "collect"}[k]
}

// serve goes on with a request, and reports whether it is answered.
func (c *Core) serve(r *request) bool {
	var done bool
	var a Answer
	switch r.ask.Kind {
	case AskGet:
		a.Node, done, a.Err = c.get(r)
	case AskRelease:
		done, a.Err = c.release(r)
	case AskTags:
		done, a.Err = c.setTags(r)
	case AskList:
		a.Nodes, done, a.Err = c.list(r)
	case AskOrphans:
		a.Nodes, done = c.orphanNodes(r.ask.Alive), true
	case AskEvict:
		a.Collected, done, a.Err = c.evict(r)
	}
	if done {
		c.answer(r.token, Answer{Node: a.Node, Nodes: a.Nodes, Collected: a.Collected, Err: AsError(r.ask.Kind.String(), a.Err)})
	}
	return done
}
