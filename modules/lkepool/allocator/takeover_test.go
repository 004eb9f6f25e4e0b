package allocator_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
)

// lease is how long after a leader's death the next one leads, with the defaults of leader election.
const lease = 15 * time.Second

// A leader is killed in a scale-up of 20, at several moments after its purchase. The IDs come 5 s after that. The next leader buys nothing
// more, and has served all 20 within the Lease and 10 s.
func TestLeaderKilledInAScaleUpOf20(t *testing.T) {
	profile := linodesim.Realistic()
	profile.InstanceID = linodesim.Exactly(5 * time.Second)
	const n = 20
	// The purchase is sent at 4.5 s, and answered at 8.5 s at the latest.
	for _, after := range []time.Duration{9 * time.Second, 10 * time.Second, 12 * time.Second} {
		t.Run(fmt.Sprint("after=", after), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: profile}, func(t *testing.T, l *lab) {
				first := l.start(lkepool.Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var group sync.WaitGroup
				for _, name := range names(n) {
					group.Go(func() {
						//nolint:errcheck // its leader is killed
						first.Claim(ctx, lkepool.Request{Claimant: claims.Claimant{Name: name}, Key: key})
					})
				}
				time.Sleep(after)
				first.kill()
				killed := time.Now()
				cancel()
				group.Wait()
				time.Sleep(lease)
				next := l.start(lkepool.Config{})
				next.Begin(allocator.MayStillWrite)
				distinct(t, claimAll(t, next.Allocator, key, n, 5*time.Minute))
				if took := time.Since(killed); took > lease+10*time.Second || l.requested() != n || l.count() != n {
					t.Errorf("served %s after the kill; %d were bought, the pools hold %d", took, l.requested(), l.count())
				}
			})
		})
	}
}

// A person deletes k Linodes of a pool, and 5 s later the leader changes. The platform makes new Linodes 15 s after the deletion, and they
// have their IDs 5 s later, so three new claimants can have theirs then. The number of requests does not grow with k: the pool's own read
// shows when a hole is filled.
func TestHolesCostNoReadsAfterATakeover(t *testing.T) {
	const repair, id, most = 15 * time.Second, 5 * time.Second, 25
	profile := linodesim.Realistic()
	profile.InstanceID, profile.Repair = linodesim.Exactly(id), linodesim.Exactly(repair)
	for _, k := range []int{1, 10, 40} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: profile}, func(t *testing.T, l *lab) {
				first := l.start(lkepool.Config{})
				nodes := claimAll(t, first.Allocator, key, k+1, 10*time.Minute)
				var records claims.RecordMap
				records.Store(nodes[k].InstanceID, claims.Claimant{Name: nodes[k].Claim})
				time.Sleep(5 * time.Minute)
				for _, node := range nodes[:k] {
					if err := l.sim.DeleteInstance(node.InstanceID); err != nil {
						t.Fatal(err)
					}
				}
				deleted := time.Now()
				time.Sleep(5 * time.Second)
				first.kill()
				before, _, _ := l.calls()
				next := l.start(lkepool.Config{Records: &records})
				next.Begin(allocator.MayStillWrite)
				claimAll(t, next.Allocator, key, 3, 10*time.Minute)
				after, _, _ := l.calls()
				took := time.Since(deleted)
				t.Logf("k=%d: %d requests in %s", k, after-before, took.Round(100*time.Millisecond))
				if after-before > most || took > (repair+id)*115/100+2*time.Second {
					t.Errorf("%d requests in %s", after-before, took)
				}
			})
		})
	}
}

// Reads of single instances fail for 60 s in the first two minutes of a process, and everything else works: the claimant waits, and one
// node is bought.
func TestFailedReadsBuyNothing(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		rule := l.sim.Fail(linodesim.Rule{Method: http.MethodGet, Route: instanceRoute, Answer: linodesim.Answer{Status: http.StatusBadGateway}})
		time.AfterFunc(time.Minute, func() { l.sim.Heal(rule) })
		if _, err := p.Claim(within(t, 3*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}); err != nil {
			t.Error(err)
		}
		if l.requested() != 1 || l.count() != 1 {
			t.Errorf("%d were bought, the pools hold %d", l.requested(), l.count())
		}
	})
}
