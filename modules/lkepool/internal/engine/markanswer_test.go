package engine

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A claim counts when the answer to its write shows it, and not because the answer
// is a success.
func TestAnAnswerWithoutTheClaimGivesNothing(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	now = now.Add(10 * time.Second)
	key := simKeys[0]
	pool := lkepool.Pool{ID: 5, Count: 1, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
		Slots: []lkepool.Slot{{NodeID: "5-1", InstanceID: 7}}}
	instance := lkepool.Instance{ID: 7, Name: "lke7-5-1"}
	queue := c.Handle(Asked{Token: 1, Ask: Ask{Kind: AskClaim, Request: lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}}}, now)
	marks := 0
	for range 30 {
		if len(queue) == 0 {
			break
		}
		a := queue[0]
		queue = queue[1:]
		if a.Op == OpAnswer {
			t.Fatalf("the claimant got %+v after %d writes without effect", a.Answer, marks)
		}
		if a.Op == OpMark {
			marks++
		}
		now = now.Add(time.Second)
		d := Done{Action: a, Began: now, Pools: []lkepool.Pool{pool}, Instances: []lkepool.Instance{instance}, Pool: pool, Instance: instance}
		queue = append(queue, c.Handle(d, now)...)
	}
	if marks == 0 {
		t.Error("nothing was written")
	}
}
