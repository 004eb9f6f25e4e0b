package allocator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

type beginner struct {
	lkepool.Backend
	during  func()
	creates int
}

func (b *beginner) Create(ctx context.Context, s lkepool.PoolSpec) (lkepool.Pool, error) {
	b.creates++
	if b.during != nil {
		b.during()
	}
	return b.Backend.Create(ctx, s)
}

// Begin during a creation must not make the engine count creations wrongly.
func TestBeginDuringACreation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := &beginner{Backend: memory.New(memory.Config{CallTakes: 2 * time.Second})}
		a, err := allocator.New(b, lkepool.Config{Records: &claims.RecordMap{}})
		if err != nil {
			t.Fatal(err)
		}
		b.during = func() { b.during = nil; a.Begin(allocator.Ended) }
		who := claims.Claimant{Name: "a"}
		n, err := a.Claim(within(t, time.Minute), lkepool.Request{Claimant: who, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Release(within(t, time.Minute), n.InstanceID, who); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		var group sync.WaitGroup
		for _, name := range []string{"b", "c", "d"} {
			time.Sleep(2500 * time.Millisecond)
			group.Go(func() {
				if _, err := a.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: name}, Key: key}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if b.creates > 2 {
			t.Errorf("%d creations for two pools", b.creates)
		}
	})
}
