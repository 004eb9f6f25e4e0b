package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A read that was under way when a request came is too old for it, also where
// its answer comes later: when the request's own read fails, that is the answer.
func TestRequestOutlivesOlderRead(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{}, now, true)
	later := func() time.Time { now = now.Add(time.Second); return now }
	looks := func(actions []Action) int {
		n := 0
		for _, a := range actions {
			if a.Op == OpGetInstance {
				n++
			}
		}
		return n
	}
	const id = 7
	look := Action{Op: OpGetInstance, InstanceID: id}

	first := later()
	if n := looks(c.Handle(Asked{Token: 1, Ask: Ask{Kind: AskGet, ID: id}}, first)); n != 1 {
		t.Fatalf("%d reads for the first request, want 1", n)
	}
	c.Handle(Asked{Token: 2, Ask: Ask{Kind: AskGet, ID: id}}, later())
	instance := lkepool.Instance{ID: id}
	if n := looks(c.Handle(Done{Action: look, Began: first, Instance: instance}, later())); n != 1 {
		t.Fatalf("%d reads for the second request, want 1", n)
	}
	lost := &claims.Error{Kind: claims.KindUnavailable, Op: string(OpGetInstance), Effect: claims.EffectNone, Err: errors.New("no answer")}
	for _, a := range c.Handle(Done{Action: look, Began: now, Err: lost}, later()) {
		if a.Op == OpAnswer && a.Token == 2 && claims.KindOf(a.Answer.Err) == claims.KindUnavailable {
			return
		}
	}
	t.Error("the second request waits although its read failed")
}
