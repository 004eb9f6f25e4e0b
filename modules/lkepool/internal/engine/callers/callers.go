package callers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tagging"
)

// Callers are those that wait for an answer, and the claimants that did lately.
type Callers struct {
	tags tagging.Tags
	// Claims are in the order of their first calls.
	Claims []*Claim
	// waiting are the claims by their value.
	waiting  map[string][]*Claim
	requests []*Request
}

// New has no callers yet.
func New(tags tagging.Tags) *Callers { return &Callers{tags: tags, waiting: map[string][]*Claim{}} }

// Claim is one claimant that waits for a node, or did lately.
type Claim struct {
	ID      claims.ClaimID
	Request lkepool.Request
	Hash    string
	// The times of its first call, and of its latest arrival or departure.
	Wanted, Asked time.Time
	// tokens are its callers that wait; none for one that left and will return.
	tokens []int
}

// Waits reports whether a caller waits for the claim.
func (c *Claim) Waits() bool { return len(c.tokens) > 0 }

// Request is a caller that waits for something other than a claim.
type Request struct {
	// Token is that of its answer, and Since when it came.
	Token int
	Ask   event.Ask
	Since time.Time
	// Wrote is when the write of a change of tags began.
	Wrote time.Time
	Sweep Sweep
}

// Sweep is the state of one eviction.
type Sweep struct {
	Collected claims.Collected
	Errs      []error
	// Left are the instances still to be dealt with; Begun: that was filled in.
	Left  []int
	Begun bool
	// Slots are the slots being removed, Vacated the pools that were dealt with.
	Slots   map[string]bool
	Vacated map[int]bool
}

// Fail notes an error that the caller gets in the end. One that waiting ends is none.
func (s *Sweep) Fail(err error) {
	if err != nil && claims.KindOf(err) != claims.KindProvisioning {
		s.Errs = append(s.Errs, err)
	}
}

// Collect notes what was removed: slots, nodes, and a pool, 0 for none.
func (s *Sweep) Collect(poolID int, slots []string, nodes ...claims.Node) {
	s.Collected.Slots = append(s.Collected.Slots, slots...)
	s.Collected.Removed = append(s.Collected.Removed, nodes...)
	if pool := strconv.Itoa(poolID); poolID != 0 && !slices.Contains(s.Collected.Pools, pool) {
		s.Collected.Pools = append(s.Collected.Pools, pool)
	}
}

// Of returns the record of a claimant, nil for one that does not want a node.
func (c *Callers) Of(who claims.ClaimID) *Claim {
	for _, claim := range c.waiting[who.Value] {
		if claim.ID.Is(who) {
			return claim
		}
	}
	return nil
}

// KeyOf returns the hash of the key that a claimant wants a node of, "" for one that
// does not want any.
func (c *Callers) KeyOf(who claims.ClaimID) string {
	if claim := c.Of(who); claim != nil {
		return claim.Hash
	}
	return ""
}

// Wants reports whether claimants wait for a node of the key.
func (c *Callers) Wants(hash string) bool {
	return slices.ContainsFunc(c.Claims, func(claim *Claim) bool { return claim.Hash == hash && claim.Waits() })
}

// Keys are the hashes of the keys that claimants want, or wanted lately.
func (c *Callers) Keys() map[string]bool {
	keys := map[string]bool{}
	for _, claim := range c.Claims {
		keys[claim.Hash] = true
	}
	return keys
}

// Idle reports whether no caller waits.
func (c *Callers) Idle() bool {
	return len(c.requests) == 0 && !slices.ContainsFunc(c.Claims, (*Claim).Waits)
}

func (c *Callers) add(claim *Claim) {
	c.Claims = append(c.Claims, claim)
	c.waiting[claim.ID.Value] = append(c.waiting[claim.ID.Value], claim)
}

// Inherit takes over the callers that wait for an earlier engine.
func (c *Callers) Inherit(from *Callers, now time.Time) {
	for _, claim := range from.Claims {
		c.add(claim)
	}
	for _, r := range from.requests {
		c.requests = append(c.requests, &Request{Token: r.Token, Ask: r.Ask, Since: now})
	}
}

// Admit takes a caller in. One that cannot be is answered at once.
func (c *Callers) Admit(e event.Asked, now time.Time) []event.Action {
	if e.Ask.Kind != event.AskClaim {
		c.requests = append(c.requests, &Request{Token: e.Token, Ask: e.Ask, Since: now})
		return nil
	}
	who, hash := c.tags.ID(e.Ask.Request.Claimant), e.Ask.Request.Key.Hash()
	record := c.Of(who)
	switch {
	case record == nil:
		record = &Claim{ID: who, Wanted: now}
		c.add(record)
	case record.Waits() && record.Hash != hash:
		return []event.Action{NewAnswer(e.Token, event.Answer{Err: &claims.Error{
			Kind: claims.KindConflict, Op: "claim", Field: "Request.Key", Effect: claims.EffectNone,
			Err: fmt.Errorf("claimant %q is already waiting for a node of another key", e.Ask.Request.Claimant.Name),
		}})}
	}
	record.Request, record.Hash, record.Asked = e.Ask.Request, hash, now
	record.Wanted = cmp.Or(record.Wanted, now)
	record.tokens = append(record.tokens, e.Token)
	return nil
}

// Dismiss answers a caller whose time is over. why is what keeps the engine from
// reading or writing, if anything does. It returns the claim that has no caller
// left, nil for none.
func (c *Callers) Dismiss(e event.Left, why error, now time.Time) (answers []event.Action, left *Claim) {
	for _, claim := range c.Claims {
		at := slices.Index(claim.tokens, e.Token)
		if at < 0 {
			continue
		}
		claim.tokens, claim.Asked = slices.Delete(claim.tokens, at, at+1), now
		if !claim.Waits() {
			left = claim
		}
		return []event.Action{NewAnswer(e.Token, event.Answer{Err: overdue("claim", "no node yet", why, e.Cause)})}, left
	}
	at := slices.IndexFunc(c.requests, func(r *Request) bool { return r.Token == e.Token })
	if at < 0 {
		return nil, nil
	}
	r := c.requests[at]
	c.requests = slices.Delete(c.requests, at, at+1)
	return []event.Action{NewAnswer(e.Token, event.Answer{
		Collected: r.Sweep.Collected, Err: overdue(r.Ask.Kind.String(), "not done yet", why, e.Cause),
	})}, nil
}

// Serve calls serve for each request other than a claim, in the order in which they
// came, and forgets those that it returns true for.
func (c *Callers) Serve(serve func(*Request) bool) { c.requests = slices.DeleteFunc(c.requests, serve) }

// Deliver answers all callers that wait for the claim.
func (c *Callers) Deliver(of *Claim, a event.Answer, now time.Time) []event.Action {
	answers := make([]event.Action, 0, len(of.tokens))
	for _, token := range of.tokens {
		answers = append(answers, NewAnswer(token, a))
	}
	of.tokens, of.Asked = nil, time.Time{}
	if a.Err != nil { // it may call again, as a new claimant
		of.Wanted, of.Asked = time.Time{}, now
	}
	return answers
}

// Forget drops claims that were answered, and those whose claimant has not come back
// since the given time.
func (c *Callers) Forget(since time.Time) {
	c.Claims = slices.DeleteFunc(c.Claims, func(old *Claim) bool {
		if old.Waits() || !old.Asked.Before(since) {
			return false
		}
		same := slices.DeleteFunc(c.waiting[old.ID.Value], func(c *Claim) bool { return c == old })
		if c.waiting[old.ID.Value] = same; len(same) == 0 {
			delete(c.waiting, old.ID.Value)
		}
		return true
	})
}

// NewAnswer returns the action that answers a call.
func NewAnswer(token int, a event.Answer) event.Action {
	return event.Action{Op: event.OpAnswer, Token: token, Answer: &a}
}
