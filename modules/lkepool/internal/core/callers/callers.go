package callers

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tagging"
)

// Callers has the calls that wait for an answer, and the claimants whose calls waited lately.
type Callers struct {
	tags tagging.Tags
	// claims are in the order of their first calls, byValue by the claimant's value.
	claims   []*Claim
	byValue  map[string][]*Claim
	requests []*Request
}

// New returns Callers without a caller.
func New(tags tagging.Tags) *Callers { return &Callers{tags: tags, byValue: map[string][]*Claim{}} }

// Claim is a claimant that waits for a node, or waited lately.
type Claim struct {
	id      claims.ClaimID
	request lkepool.Request
	hash    string
	// wanted is the time of its first call, called the time at which a caller last came or left.
	wanted, called time.Time
	// tokens are its callers that wait. A claimant that left and may return has no tokens.
	tokens []int
}

// ID identifies the claimant.
func (c *Claim) ID() claims.ClaimID { return c.id }

// Request is its newest request, Hash the hash of the key in that request.
func (c *Claim) Request() lkepool.Request { return c.request }
func (c *Claim) Hash() string             { return c.hash }

// Wanted is when it called first, Called when it came or left last.
func (c *Claim) Wanted() time.Time { return c.wanted }
func (c *Claim) Called() time.Time { return c.called }

// Waits reports whether a caller waits for the claim.
func (c *Claim) Waits() bool { return len(c.tokens) > 0 }

// Request is a caller that waits for something other than a claim.
type Request struct {
	token int
	ask   event.Ask
	since time.Time
}

// The token of its answer, what the caller wants, and when it came.
func (r *Request) Token() int       { return r.token }
func (r *Request) Ask() event.Ask   { return r.ask }
func (r *Request) Since() time.Time { return r.since }

// View has the questions that decisions have about callers. It changes nothing.
type View struct{ c *Callers }

// View returns what decisions read.
func (c *Callers) View() View { return View{c} }

// Claims are the claimants that wait, and the claimants that waited lately, in the order of their first calls.
func (v View) Claims() iter.Seq[*Claim] { return slices.Values(v.c.claims) }

// Requests are the other callers, in the order in which they came.
func (v View) Requests() iter.Seq[*Request] { return slices.Values(v.c.requests) }

// Of returns the record of a claimant, nil if the claimant wants no node.
func (v View) Of(who claims.ClaimID) *Claim { return v.c.of(who) }

// KeyOf returns the hash of the key of which a claimant wants a node, "" if it wants no node.
func (v View) KeyOf(who claims.ClaimID) string {
	if claim := v.c.of(who); claim != nil {
		return claim.hash
	}
	return ""
}

func (c *Callers) of(who claims.ClaimID) *Claim {
	for _, claim := range c.byValue[who.Value] {
		if claim.id.Is(who) {
			return claim
		}
	}
	return nil
}

// Keys are the hashes of the keys that claimants want, or wanted lately.
func (c *Callers) Keys() map[string]bool {
	keys := map[string]bool{}
	for _, claim := range c.claims {
		keys[claim.hash] = true
	}
	return keys
}

// Idle reports whether no caller waits.
func (c *Callers) Idle() bool {
	return len(c.requests) == 0 && !slices.ContainsFunc(c.claims, (*Claim).Waits)
}

func (c *Callers) add(claim *Claim) {
	c.claims = append(c.claims, claim)
	c.byValue[claim.id.Value] = append(c.byValue[claim.id.Value], claim)
}

// Inherit takes over the callers that wait for an earlier engine.
func (c *Callers) Inherit(from *Callers, now time.Time) {
	for _, claim := range from.claims {
		c.add(claim)
	}
	for _, r := range from.requests {
		c.requests = append(c.requests, &Request{token: r.token, ask: r.ask, since: now})
	}
}

// Admit takes a caller in. A claim for another key than the key that the claimant already waits for is refused at once.
func (c *Callers) Admit(e event.Asked, now time.Time) []event.Action {
	if e.Ask.Kind != event.AskClaim {
		c.requests = append(c.requests, &Request{token: e.Token, ask: e.Ask, since: now})
		return nil
	}
	who, hash := c.tags.ID(e.Ask.Request.Claimant), e.Ask.Request.Key.Hash()
	claim := c.of(who)
	switch {
	case claim == nil:
		claim = &Claim{id: who, wanted: now}
		c.add(claim)
	case claim.Waits() && claim.hash != hash:
		return []event.Action{newAnswer(e.Token, event.Answer{Err: &claims.Error{
			Kind: claims.KindConflict, Op: "claim", Field: "Request.Key", Effect: claims.EffectNone,
			Err: fmt.Errorf("claimant %q is already waiting for a node of another key", e.Ask.Request.Claimant.Name),
		}})}
	}
	claim.request, claim.hash, claim.called = e.Ask.Request, hash, now
	claim.wanted = cmp.Or(claim.wanted, now)
	claim.tokens = append(claim.tokens, e.Token)
	return nil
}

// Dismiss answers a caller whose time is over. why is the failure that keeps the engine from reading or
// writing, nil without a failure.
func (c *Callers) Dismiss(e event.Left, why error, now time.Time) []event.Action {
	for _, claim := range c.claims {
		if at := slices.Index(claim.tokens, e.Token); at >= 0 {
			claim.tokens, claim.called = slices.Delete(claim.tokens, at, at+1), now
			return []event.Action{newAnswer(e.Token, event.Answer{Err: overdue("claim", "no node yet", why, e.Cause)})}
		}
	}
	at := slices.IndexFunc(c.requests, func(r *Request) bool { return r.token == e.Token })
	if at < 0 {
		return nil
	}
	r := c.requests[at]
	c.requests = slices.Delete(c.requests, at, at+1)
	return []event.Action{newAnswer(e.Token, event.Answer{Err: overdue(r.ask.Kind.String(), "not done yet", why, e.Cause)})}
}

// Deliver answers all callers that wait for a claim.
func (c *Callers) Deliver(who claims.ClaimID, a event.Answer, now time.Time) []event.Action {
	claim := c.of(who)
	if claim == nil {
		return nil
	}
	answers := make([]event.Action, 0, len(claim.tokens))
	for _, token := range claim.tokens {
		answers = append(answers, newAnswer(token, a))
	}
	claim.tokens, claim.called = nil, time.Time{}
	if a.Err != nil { // it may call again, as a new claimant
		claim.wanted, claim.called = time.Time{}, now
	}
	return answers
}

// Reply answers a caller with another request.
func (c *Callers) Reply(token int, a event.Answer) []event.Action {
	c.requests = slices.DeleteFunc(c.requests, func(r *Request) bool { return r.token == token })
	return []event.Action{newAnswer(token, a)}
}

// Forget drops claims that were answered, and claims whose claimant has not come back since the given time.
func (c *Callers) Forget(since time.Time) {
	c.claims = slices.DeleteFunc(c.claims, func(old *Claim) bool {
		if old.Waits() || !old.called.Before(since) {
			return false
		}
		same := slices.DeleteFunc(c.byValue[old.id.Value], func(c *Claim) bool { return c == old })
		if c.byValue[old.id.Value] = same; len(same) == 0 {
			delete(c.byValue, old.id.Value)
		}
		return true
	})
}

// newAnswer returns the action that answers a call.
func newAnswer(token int, a event.Answer) event.Action {
	return event.Action{Op: event.OpAnswer, Token: token, Answer: &a}
}
