package allocator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// scaleAt is a platform whose counts take a while, and are noted.
type scaleAt struct {
	lkepool.Backend
	takes time.Duration
	began []time.Time
}

func (s *scaleAt) Scale(_ context.Context, id, count int) (lkepool.Pool, error) {
	s.began = append(s.began, time.Now())
	time.Sleep(s.takes)
	return lkepool.Pool{ID: id, Count: count}, nil
}

// Pools hangs.
func (s *scaleAt) Pools(ctx context.Context) ([]lkepool.Pool, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func shellOver(s *scaleAt) *shell {
	s.Backend = memory.New(memory.Config{})
	return newShell(s, lkepool.Config{}.WithDefaults())
}

func (s *shell) scale(pool int, within time.Duration) core.Done {
	a := core.Action{Op: core.OpScale, PoolID: pool, Count: 2, NotAfter: time.Now().Add(within)}
	return s.perform(context.Background(), a)
}

// A count rests on a read right before it: one that waited behind hanging requests
// is dropped, and decided again.
func TestACountThatWaitedForASlotIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := &scaleAt{}
		s := shellOver(platform)
		for range core.ParallelEffects {
			go s.perform(t.Context(), core.Action{Op: core.OpListPools})
		}
		synctest.Wait()
		began := time.Now()
		d := s.scale(1, 3*time.Second)
		if !d.Unsent || claims.EffectOf(d.Err) != claims.EffectNone || len(platform.began) != 0 || time.Since(began) != 3*time.Second {
			t.Errorf("%+v after %s, %d sent", d, time.Since(began), len(platform.began))
		}
	})
}

// Overlapping writes have no order.
func TestWritesToOnePoolDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := &scaleAt{takes: 2 * time.Second}
		s := shellOver(platform)
		results := make(chan core.Done, 3)
		for range 2 {
			go func() { results <- s.scale(1, 3*time.Second) }()
		}
		go func() { results <- s.scale(2, 3*time.Second) }()
		for range 3 {
			if d := <-results; d.Unsent || d.Err != nil {
				t.Errorf("%+v", d)
			}
		}
		if at := platform.began; len(at) != 3 || at[2].Sub(at[1]) != 2*time.Second || !at[0].Equal(at[1]) {
			t.Errorf("sent at %v", at)
		}
		late := make(chan core.Done, 1)
		go func() { late <- s.scale(1, time.Minute) }()
		synctest.Wait()
		if d := s.scale(1, time.Second); !d.Unsent {
			t.Error("a write waits for another one for longer than it may be sent")
		}
		<-late
	})
}

func TestRemovalsOfOnePoolShareItsLock(t *testing.T) {
	remove, shared := lockOf(core.Action{Op: core.OpRemove, PoolID: 1})
	drop, alone := lockOf(core.Action{Op: core.OpDrop, PoolID: 1})
	if remove != drop || !shared || alone {
		t.Errorf("a removal has the lock %q, shared %t; a deletion of the pool %q, shared %t", remove, shared, drop, alone)
	}
	if other, _ := lockOf(core.Action{Op: core.OpMark, PoolID: 1, InstanceID: 1}); other == remove {
		t.Error("a claim waits for the pool")
	}
}
