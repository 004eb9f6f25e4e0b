package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// parallel is how many requests the engine makes at the same time.
const parallel = 64

// crowded is a platform on which the read of one pool waits until all other slots are taken
// by claims, which hang.
type crowded struct {
	*memory.Platform

	mu      sync.Mutex
	hanging int
	pool    int
	// crowd is closed when all slots but one are taken, let lets the claims go on.
	crowd, let chan struct{}
	// reads and counts are when reads and counts of the pool began.
	reads, counts []time.Time
}

func (c *crowded) Mark(ctx context.Context, id int, tags []string) (lkepool.Instance, error) {
	c.mu.Lock()
	if c.pool != 0 {
		if c.hanging++; c.hanging == parallel-1 {
			close(c.crowd)
		}
		c.mu.Unlock()
		<-c.let
		c.mu.Lock()
	}
	c.mu.Unlock()
	return c.Platform.Mark(ctx, id, tags)
}

func (c *crowded) Pool(ctx context.Context, id int) (lkepool.Pool, error) {
	c.mu.Lock()
	watched := id == c.pool
	if watched {
		c.reads = append(c.reads, time.Now())
	}
	c.mu.Unlock()
	if watched {
		<-c.crowd
	}
	return c.Platform.Pool(ctx, id)
}

func (c *crowded) Scale(ctx context.Context, id, count int) (lkepool.Pool, error) {
	c.mu.Lock()
	if id == c.pool {
		c.counts = append(c.counts, time.Now())
	}
	c.mu.Unlock()
	return c.Platform.Scale(ctx, id, count)
}

// The pool of a claimant was read, and then requests that hang take all slots: the count
// that the read was for is not sent when they end, but read and decided again.
func TestACountThatWaitedBehindHangingRequestsIsDecidedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const ids = 30 * time.Second
		platform := &crowded{
			Platform: memory.New(memory.Config{CallTakes: 100 * time.Millisecond, InstanceAfter: func() time.Duration { return ids }}),
			crowd:    make(chan struct{}), let: make(chan struct{}),
		}
		a := newAllocator(t, platform, lkepool.Config{})
		first := claimAll(t, a, key, 1, time.Minute)[0]

		var group sync.WaitGroup
		claim := func(name string, k lkepool.Key) {
			group.Go(func() {
				if _, err := a.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: name}, Key: k}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		other := key
		other.NodePool = "other"
		for n := range parallel {
			claim(fmt.Sprintf("other-%d", n), other)
		}
		time.Sleep(ids - 5*time.Second)
		platform.mu.Lock()
		platform.pool = first.PoolID
		platform.mu.Unlock()
		claim("waiting", key)
		<-platform.crowd
		synctest.Wait()
		time.Sleep(20 * time.Second)
		platform.mu.Lock()
		if platform.hanging != parallel || len(platform.reads) != 1 || len(platform.counts) != 0 {
			t.Errorf("%d claims hang, %d reads and %d counts were sent", platform.hanging, len(platform.reads), len(platform.counts))
		}
		platform.mu.Unlock()
		free := time.Now()
		close(platform.let)
		group.Wait()
		again := slices.IndexFunc(platform.reads, func(at time.Time) bool { return !at.Before(free) })
		switch {
		case len(platform.counts) != 1:
			t.Errorf("%d counts were sent", len(platform.counts))
		case again < 0 || !platform.counts[0].After(platform.reads[again]) || platform.counts[0].Sub(platform.reads[again]) > 3*time.Second:
			t.Errorf("requests went on at %s, the pool was read at %v, and its count sent at %s", free, platform.reads, platform.counts[0])
		}
	})
}
