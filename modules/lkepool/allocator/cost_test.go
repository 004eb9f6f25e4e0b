package allocator_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

// cost measures the calls of a burst.
type cost struct {
	calls, collections, throttled int
	ratio                         float64
	late                          time.Duration // beyond what is allowed
}

// lead is for how long a process leads before the cost of claims is measured:
// for longer than lists may lag, after which a node that it saw arrive is
// claimed with one call.
const lead = 3 * time.Minute

// costOf lets n claimants, spread over a number of keys, come within a time.
func costOf(t *testing.T, l *lab, keys, n int, within time.Duration) cost {
	t.Helper()
	p := l.start(lkepool.Config{})
	time.Sleep(lead)
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			time.Sleep(time.Duration(i%keys) * within / time.Duration(keys))
			k := key
			if keys > 1 {
				k.NodePool = fmt.Sprintf("pool-%d", i%keys)
			}
			ctx := contextWithin(t, 20*time.Minute)
			if _, err := p.Claim(ctx, lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("claim-%03d", i)}, Key: k}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var c cost
	c.calls, c.collections, c.throttled = l.calls()
	floor := l.sim.Floor(began).Last.Sub(began)
	c.ratio, c.late = float64(time.Since(began))/float64(floor), time.Since(began)-allowed(floor)
	if l.requested() != n || l.count() != n {
		t.Errorf("I5: %d nodes were asked for, the pools hold %d", l.requested(), l.count())
	}
	l.audit()
	t.Logf("%d keys, %d claims: calls=%d collection_gets=%d throttled=%d floor_ratio=%.3f", keys, n, c.calls, c.collections, c.throttled,
		c.ratio)
	return c
}

// A burst may take 1.15 times the floor and 2 s for a read that shows the nodes and a tag for each of 100. With instance IDs within 2 s
// the floor is the one write of LKE. Then it may take 3 s: on Enterprise each look is a list, and lists are 2.3 s apart.
func allowed(floor time.Duration) time.Duration {
	return floor + max(floor*15/100+2*time.Second, 3*time.Second)
}

// Calls do not grow faster than claims, and claims do not wait for each other.
func TestCostOfABurst(t *testing.T) {
	for _, tier := range tiers {
		for _, profile := range []linodesim.Profile{linodesim.Realistic(), linodesim.Slow()} {
			for seed := range seeds(12) {
				t.Run(fmt.Sprintf("%s/%s/seed=%d", tier, profile.Name, seed), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						c := costOf(t, newLab(t, tier, linodesim.Config{Profile: profile, Seed: seed}), 1, 100, 0)
						if c.calls > 120 || c.collections > 10 || c.throttled != 0 || c.late > 0 {
							t.Errorf("%+v", c)
						}
					})
				})
			}
		}
	}
}

// The last of N claimants has its node 1 s after its ID is visible, 3 s on Enterprise, where a look is a list. A process that has just
// begun does not know how long nodes take, and looks often for five seconds. The second burst of a process is served as fast with fewer
// looks, also where nodes take a minute.
func TestTheLastOfABurst(t *testing.T) {
	most := map[string]struct {
		late          time.Duration
		first, second int // calls for 100 claims
	}{lke.Standard: {time.Second, 108, 105}, lke.Enterprise: {3 * time.Second, 120, 120}}
	for _, tier := range tiers {
		for _, id := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, time.Minute} {
			for _, n := range []int{1, 10, 100, 240} {
				t.Run(fmt.Sprintf("%s/%s/n=%d", tier, id, n), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						l := newLab(t, tier, linodesim.Config{Seed: 1, Profile: linodesim.Profile{
							Request:    linodesim.Exactly(40 * time.Millisecond),
							InstanceID: linodesim.Exactly(id), NodeListed: linodesim.Exactly(id), Join: linodesim.Exactly(id + 30*time.Second),
						}})
						p := l.start(lkepool.Config{})
						calls, late := crowd(t, l, p, "first", n)
						if id < time.Minute && late > most[tier].late || n == 100 && id < time.Minute && calls > most[tier].first {
							t.Errorf("first burst: the last node was handed out %s late, after %d calls", late, calls)
						}
						if n > 100 {
							return
						}
						time.Sleep(3 * time.Minute)
						if _, err := p.List(t.Context()); err != nil { // as Karpenter does every two minutes
							t.Fatal(err)
						}
						calls, late = crowd(t, l, p, "second", n)
						if late > most[tier].late+id*3/20 || n == 100 && id < time.Minute && calls > most[tier].second {
							t.Errorf("second burst: the last node was handed out %s late, after %d calls", late, calls)
						}
						l.audit()
					})
				})
			}
		}
	}
}

// crowd lets n claimants come at once. It returns the calls, and how long after the last ID was visible the last node was handed out.
func crowd(t *testing.T, l *lab, p *process, name string, n int) (calls int, late time.Duration) {
	t.Helper()
	before, _, _ := l.calls()
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			who := claims.Claimant{Name: fmt.Sprintf("%s-%03d", name, i)}
			if _, err := p.Claim(contextWithin(t, 20*time.Minute), lkepool.Request{Claimant: who, Key: key}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	calls, _, _ = l.calls()
	return calls - before, time.Since(l.sim.Floor(began).Last)
}

// seeds is how many seeds are tried: with -short a quarter.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}

// Few claimants cost at most 25 calls a minute beyond their own writes.
func TestCostOfFewClaims(t *testing.T) {
	for _, tier := range tiers {
		for _, profile := range []linodesim.Profile{linodesim.Realistic(), linodesim.Slow()} {
			for _, n := range []int{1, 10} {
				for seed := range seeds(5) {
					t.Run(fmt.Sprintf("%s/%s/n=%d/seed=%d", tier, profile.Name, n, seed), func(t *testing.T) {
						inBubble(t, func(t *testing.T) {
							began := time.Now()
							c := costOf(t, newLab(t, tier, linodesim.Config{Profile: profile, Seed: seed}), 1, n, 0)
							took := time.Since(began) - lead
							if most := n + 6 + int(25*max(1, took.Minutes())); c.calls > most || c.ratio > 2.2 {
								t.Errorf("%+v in %s; at most %d calls", c, took, most)
							}
						})
					})
				}
			}
		}
	}
}

// Many keys that wait at the same time share most of what they read,
// whether they come together or one after the other, and are never throttled.
func TestManyKeysShareTheirReads(t *testing.T) {
	for _, tier := range tiers {
		for _, profile := range []linodesim.Profile{linodesim.Realistic(), linodesim.Slow()} {
			for _, spread := range []time.Duration{0, 3 * time.Second, 30 * time.Second} {
				t.Run(fmt.Sprintf("%s/%s/within=%s", tier, profile.Name, spread), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						const n = 80
						began := time.Now()
						c := costOf(t, newLab(t, tier, linodesim.Config{Profile: profile, Seed: 5}), 40, n, spread)
						took := time.Since(began)
						// Each key on its own would need five lists and more, 200 in all;
						// how many are shared depends on how the keys' turns fall.
						if most := 20 + 5*int((took-lead)/(2*time.Second)); c.collections > most || c.throttled != 0 || c.ratio > 1.6 {
							t.Errorf("%+v within %s; at most %d lists", c, took, most)
						}
						if tier == lke.Enterprise && c.calls > 40*4+n+120 {
							t.Errorf("%+v", c)
						}
					})
				})
			}
		}
	}
}
