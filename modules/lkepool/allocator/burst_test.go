package allocator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

func TestSimulatorBurst(t *testing.T) {
	for _, tier := range tiers {
		for _, profile := range []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()} {
			for _, n := range []int{1, 10, 100, 240, 500} {
				if n == 500 && tier == lke.Standard || n == 240 && tier == lke.Enterprise || n > 100 && testing.Short() {
					continue
				}
				t.Run(fmt.Sprintf("tier=%s/profile=%s/n=%d", tier, profile.Name, n), func(t *testing.T) {
					inBubble(t, func(t *testing.T) { burst(t, tier, profile, n) })
				})
			}
		}
	}
}

func burst(t *testing.T, tier string, profile linodesim.Profile, n int) {
	l := newLab(t, tier, linodesim.Config{Profile: profile, Seed: 3})
	p := l.start(lkepool.Config{})
	time.Sleep(time.Minute)
	began := time.Now()
	nodes := claimAll(t, p.Allocator, key, n, 20*time.Minute)
	took := time.Since(began)
	floor := l.sim.Floor(began).Last.Sub(began)
	distinct(t, nodes)
	l.audit()
	total, collections, throttled := l.calls()
	if l.requested() != n || l.count() != n {
		t.Errorf("I5: %d nodes were asked for, the pools hold %d", l.requested(), l.count())
	}
	if throttled != 0 {
		t.Errorf("%d requests were throttled", throttled)
	}
	t.Logf("calls=%d calls_per_claim=%.2f collection_gets=%d floor_ratio=%.2f took=%s floor=%s",
		total, float64(total)/float64(n), collections, float64(took)/float64(floor), took, floor)
	for _, v := range l.sim.Violations() {
		t.Errorf("the simulator broke its own description: %s", v)
	}
}

func TestSimulatorRelease(t *testing.T) {
	for _, tier := range tiers {
		t.Run(tier, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, tier, linodesim.Config{Profile: linodesim.Realistic(), Seed: 2})
				p := l.start(lkepool.Config{})
				nodes := claimAll(t, p.Allocator, key, 20, 20*time.Minute)
				releaseAll(t, p.Allocator, nodes)
				l.audit()
				if pools := l.ours(); len(pools) != 0 {
					t.Errorf("pools are left: %+v", pools)
				}
			})
		})
	}
}
