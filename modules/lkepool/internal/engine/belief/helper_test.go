package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// testKey is that of pool 5, which all tests have.
var (
	testKey  = lkepool.Key{InstanceType: "g6-standard-2"}
	readPool = event.Action{Op: event.OpGetPool, PoolID: 5}
)

// hearer is a belief with the settings of a default configuration, and its time.
type hearer struct {
	*Belief
	start, now time.Time
}

func newHearer() *hearer {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &hearer{Belief: New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, start, true), start: start, now: start}
}

// after merges a result that is sent and answered so long after the one before.
func (h *hearer) after(pause time.Duration, d event.Done) {
	at := h.now.Add(pause).Sub(h.start)
	h.between(at, at, d)
}

// between merges a result that was sent and answered at these times since the start.
func (h *hearer) between(sent, answered time.Duration, d event.Done) {
	h.now, d.Began = h.start.Add(answered), h.start.Add(sent)
	h.At(h.now)
	h.Merge(d)
}

// owned is how many nodes the ceilings count.
func (h *hearer) owned() int { return h.Owning()[testKey.InstanceType] }

func (h *hearer) pool() *Pool {
	p, _ := h.Pools.Get(5)
	return p
}

func testPool(count int, slots ...lkepool.Slot) lkepool.Pool {
	return lkepool.Pool{ID: 5, Count: count, InstanceType: testKey.InstanceType, Slots: slots,
		Tags: []string{testKey.Tag(claims.Tags{}), lkepool.ManagedTag}}
}

// poolShown is a direct read of the pool, poolListed a list of pools.
func poolShown(p lkepool.Pool) event.Done { return event.Done{Action: readPool, Pool: p} }

func poolListed(p lkepool.Pool) event.Done {
	return event.Done{Action: event.Action{Op: event.OpListPools}, Pools: []lkepool.Pool{p}}
}

func instancesListed(instances ...lkepool.Instance) event.Done {
	return event.Done{Action: event.Action{Op: event.OpListInstances}, Instances: instances}
}

// instanceMissed is a direct read of instance 7 that is answered 404.
func instanceMissed() event.Done {
	return event.Done{
		Action: event.Action{Op: event.OpGetInstance, InstanceID: 7}, Err: &claims.Error{Kind: claims.KindNotFound, Op: "get instance"},
	}
}
