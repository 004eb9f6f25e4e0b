package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// busy reports what a belief about pool 5 with node 7 counts as under way.
func busy(b *Belief) bool {
	p, _ := b.Pools.Get(5)
	n, _ := b.Nodes.Get(7)
	return b.PoolList.Busy || b.InstanceList.Busy || p.Direct.Busy || p.Writes.Growing() || p.Writes.Dropping || p.Writes.Removing != 0 ||
		n.Direct.Busy || n.Removal.Busy || n.Written() || b.Purchases.buying["g6-standard-2"] != 0 ||
		b.Purchases.key(lkepool.Key{InstanceType: "g6-standard-2"}).Creating != 0
}

// What Start notes of an action, Unsent takes back, for each of them.
func TestAnActionThatIsNotSentLeavesNothingUnderWay(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, op := range event.Actions() {
		for name, held := range map[string]bool{"": false, " of a claimed node": true} {
			t.Run(op+name, func(t *testing.T) {
				b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
				key := lkepool.Key{InstanceType: "g6-standard-2"}
				b.Merge(event.Done{Action: event.Action{Op: event.OpListPools}, Began: now, Pools: []lkepool.Pool{{
					ID: 5, Count: 2, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
					Slots: []lkepool.Slot{{NodeID: "5-1", InstanceID: 7}},
				}}})
				n, _ := b.Nodes.Get(7)
				b.Reserve(n, b.Tags.ID(claims.Claimant{Name: "a"}))
				if held {
					n.become(Held)
					n.Claim.Since = now
				}
				a := event.Action{Op: event.Op(op), PoolID: 5, InstanceID: 7, NodeID: "5-1", Key: key, Bought: 1, Count: 3}
				if b.Start(a); !busy(b) {
					t.Fatal("nothing is under way")
				}
				if b.Unsent(a); busy(b) {
					t.Error("something is under way that was not sent")
				}
				if n.Claimed() != held {
					t.Errorf("the node is claimed: %v, want %v", n.Claimed(), held)
				}
			})
		}
	}
}
