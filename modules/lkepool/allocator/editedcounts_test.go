package allocator_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A count that a person changed is accepted: more nodes are used or collected,
// fewer are bought again. A client that keeps lowering it is not fought: the pool is set aside, and the missing nodes come in another one.
func TestCountEditedByHand(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		first := claimAll(t, p.Allocator, key, 1, 5*time.Minute)[0]
		time.Sleep(3 * time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			one := 1
			for ctx.Err() == nil {
				if err := l.sim.EditPool(l.cluster.ID, first.PoolID, linodesim.PoolEdit{Count: &one}); err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Second)
			}
		})
		before, _, _ := l.calls()
		began, raised := time.Now(), l.raised()
		var late sync.WaitGroup
		for i := range 6 {
			late.Go(func() {
				if _, err := p.Claim(within(t, 5*time.Minute),
					lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key}); err != nil {
					t.Errorf("late-%d: %v", i, err)
				}
			})
		}
		late.Wait()
		after, _, _ := l.calls()
		took := time.Since(began)
		// Nodes are looked for in two pools.
		if most := 20 + int(50*took.Minutes()); after-before > most || l.raised()-raised > 4 {
			t.Errorf("%d calls in %s, the count was raised %d times", after-before, took, l.raised()-raised)
		}
		stop()
		group.Wait()
		time.Sleep(15 * time.Minute)
		// LKE may have taken the claimed node; no other claim is lost by that.
		if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "later"}, Key: key}); err != nil {
			t.Errorf("when it is over: %v", err)
		}
	})
}

// One lowering is one, however often the request that makes up for it is refused.
func TestRefusalIsNoLowering(t *testing.T) {
	const n = 6
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		first := claimAll(t, p.Allocator, key, 1, 5*time.Minute)[0]
		var late sync.WaitGroup
		for i := range n {
			late.Go(func() {
				request := lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key}
				for {
					_, err := p.Claim(within(t, 30*time.Minute), request)
					if claims.KindOf(err) != claims.KindUnavailable {
						if err != nil {
							t.Errorf("%s: %v", request.Claimant.Name, err)
						}
						return
					}
					time.Sleep(5 * time.Second)
				}
			})
		}
		for l.count() < n+1 {
			time.Sleep(100 * time.Millisecond)
		}
		refusal := l.sim.Fail(linodesim.Rule{Method: "PUT", Route: poolRoute, Answer: linodesim.Answer{Status: 500}})
		one := 1
		if err := l.sim.EditPool(l.cluster.ID, first.PoolID, linodesim.PoolEdit{Count: &one}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		l.sim.Heal(refusal)
		late.Wait()
	})
}

// raised counts how often the engine raised the count of a pool.
func (l *lab) raised() int {
	n := 0
	for _, e := range l.sim.Audit() {
		before, _ := strconv.Atoi(e.Before)
		if after, err := strconv.Atoi(e.After); err == nil && e.Action == linodesim.PoolCount && e.Actor.User == engine && after > before {
			n++
		}
	}
	return n
}
