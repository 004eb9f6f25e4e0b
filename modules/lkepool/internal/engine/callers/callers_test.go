package callers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tagging"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// wants is a claimant's call for a node of a type.
func wants(token int, name, instanceType string) event.Asked {
	return event.Asked{Token: token, Ask: event.Ask{Kind: event.AskClaim, Request: lkepool.Request{
		Claimant: claims.Claimant{Name: name, UID: name}, Key: lkepool.Key{NodePool: "web", InstanceType: instanceType},
	}}}
}

// tokensOf are the tokens that actions answer.
func tokensOf(actions []event.Action) []int {
	var tokens []int
	for _, a := range actions {
		if a.Op == event.OpAnswer && a.Answer != nil {
			tokens = append(tokens, a.Token)
		}
	}
	return tokens
}

func TestCallersOfOneClaimantShareItsAnswer(t *testing.T) {
	c := New(tagging.New(claims.Tags{}))
	for token := range 3 {
		if answers := c.Admit(wants(token, "a", "g6-standard-2"), start); len(answers) > 0 {
			t.Fatalf("call %d is answered at once: %+v", token, answers)
		}
	}
	if len(c.Claims) != 1 || c.Idle() || !c.Wants(c.Claims[0].Hash) {
		t.Fatalf("%d claims, idle %v", len(c.Claims), c.Idle())
	}
	if got := tokensOf(c.Deliver(c.Claims[0], event.Answer{}, start)); len(got) != 3 {
		t.Errorf("tokens %v are answered, want 3", got)
	}
	if got := c.Deliver(c.Claims[0], event.Answer{}, start); len(got) > 0 || !c.Idle() {
		t.Errorf("%v is answered twice, idle %v", got, c.Idle())
	}
}

func TestAClaimantThatWaitsGetsNoOtherKey(t *testing.T) {
	c := New(tagging.New(claims.Tags{}))
	c.Admit(wants(1, "a", "g6-standard-2"), start)
	answers := c.Admit(wants(2, "a", "g6-standard-4"), start)
	if len(answers) != 1 || answers[0].Token != 2 || claims.KindOf(answers[0].Answer.Err) != claims.KindConflict {
		t.Fatalf("got %+v, want a conflict for call 2", answers)
	}
	c.Deliver(c.Claims[0], event.Answer{}, start)
	if answers := c.Admit(wants(3, "a", "g6-standard-4"), start); len(answers) > 0 {
		t.Errorf("a claimant that has its answer gets %+v for another key", answers)
	}
}

// A caller that leaves gets the reason, and its claimant stays until the TTL for its
// return has passed.
func TestACallerThatLeavesGetsTheReason(t *testing.T) {
	why := &claims.Error{Kind: claims.KindRateLimited, Op: "scale pool", RetryAfter: time.Minute, Err: errors.New("too many requests")}
	for _, test := range []struct {
		name string
		why  error
		kind claims.Kind
	}{
		{"without one it only takes time", nil, claims.KindProvisioning},
		{"a limit of the API", why, claims.KindRateLimited},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New(tagging.New(claims.Tags{}))
			c.Admit(wants(1, "a", "g6-standard-2"), start)
			c.Admit(wants(2, "a", "g6-standard-2"), start)
			leave := func(token int) ([]event.Action, *Claim) {
				return c.Dismiss(event.Left{Token: token, Cause: context.DeadlineExceeded}, test.why, start)
			}
			if answers, left := leave(1); left != nil || len(answers) != 1 || claims.KindOf(answers[0].Answer.Err) != test.kind ||
				!errors.Is(answers[0].Answer.Err, context.DeadlineExceeded) {
				t.Errorf("the first of two callers gets %+v and leaves claim %v", answers, left)
			}
			if _, left := leave(2); left == nil {
				t.Error("the last caller leaves no claim")
			}
			if answers, _ := leave(2); len(answers) > 0 {
				t.Errorf("a caller that has left is answered again: %+v", answers)
			}
			if c.Forget(start); len(c.Claims) != 1 {
				t.Errorf("%d claims are kept for a claimant that may return", len(c.Claims))
			}
			if c.Forget(start.Add(time.Second)); len(c.Claims) != 0 || len(c.waiting) != 0 {
				t.Errorf("%d claims and %d names are kept for a claimant that did not return", len(c.Claims), len(c.waiting))
			}
		})
	}
}
