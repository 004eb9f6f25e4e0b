package allocator_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A token that may create pools and not tag instances buys a node or two in six
// hours, and the claimant is refused with the reason.
func TestForbiddenTagsBuyNothing(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		l.sim.Fail(linodesim.Rule{Method: http.MethodPut, Route: instanceRoute, Answer: linodesim.Answer{Status: http.StatusForbidden}})
		forbidden := 0
		for began := time.Now(); time.Since(began) < 6*time.Hour; time.Sleep(time.Minute) {
			_, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
			switch claims.KindOf(err) {
			case claims.KindForbidden:
				forbidden++
			case claims.KindProvisioning:
			default:
				t.Fatal(err)
			}
		}
		if forbidden < 100 || l.requested() > 2 {
			t.Errorf("%d nodes were bought; refused %d times", l.requested(), forbidden)
		}
	})
}

// A clock that is wrong by a quarter of an hour, either way, changes nothing.
func TestWrongClock(t *testing.T) {
	for _, wrong := range []time.Duration{11 * time.Minute, 15 * time.Minute, -15 * time.Minute} {
		t.Run(wrong.String(), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
				clock := newBoundedClock(0)
				clock.wrong = wrong
				p := l.start(lkepool.Config{Clock: clock})
				nodes := claimAll(t, p.Allocator, key, 5, 10*time.Minute)
				for _, node := range nodes {
					if node.Health != claims.Healthy {
						t.Errorf("%d is %s", node.InstanceID, node.Health)
					}
				}
				if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(5)}); err != nil || len(collected.Removed) != 0 {
					t.Errorf("collected %+v, %v", collected, err)
				}
				if l.requested() != 5 {
					t.Errorf("%d were bought", l.requested())
				}
			})
		})
	}
}

// While requests hang or are throttled, the caller gets that as the reason when
// its time ends; afterwards it is served within a minute, or as soon as a pause
// is over that the API's last Retry-After requires and that the client spreads out.
func TestReasonOfAnOutageWithinTheDeadline(t *testing.T) {
	for name, rule := range map[string]linodesim.Rule{
		"hanging":    {Hang: true},
		"throttled":  {Answer: linodesim.Answer{Status: 429, RetryAfter: time.Minute}},
		"503":        {Answer: linodesim.Answer{Status: 503}},
		"a gateway":  {Answer: linodesim.Answer{Status: 502, HTML: true}},
		"hung up on": {Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Fast()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				id := l.sim.Fail(rule)
				request := lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}
				for began := time.Now(); time.Since(began) < 10*time.Minute; {
					_, err := p.Claim(within(t, 20*time.Second), request)
					if kind := claims.KindOf(err); kind != claims.KindUnavailable && kind != claims.KindRateLimited {
						t.Errorf("after %s: %v", time.Since(began), err)
					}
				}
				l.sim.Heal(id)
				began := time.Now()
				if _, err := p.Claim(within(t, 10*time.Minute), request); err != nil || time.Since(began) > max(time.Minute, rule.RetryAfter*5/4) {
					t.Errorf("served %s after the end: %v", time.Since(began), err)
				}
				if l.requested() != 1 {
					t.Errorf("%d were bought", l.requested())
				}
			})
		})
	}
}

// A pool that the list lacks for a while after its creation is read directly:
// nothing is bought twice.
func TestNewPoolMissingInTheList(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		id := l.sim.Fail(linodesim.Rule{Method: http.MethodGet, Route: poolsRoute, View: linodesim.View{Stale: time.Hour}})
		time.AfterFunc(20*time.Second, func() { l.sim.Heal(id) })
		claimAll(t, p.Allocator, key, 10, 10*time.Minute)
		if l.requested() != 10 || len(l.ours()) != 1 {
			t.Errorf("%d were bought, in %d pools", l.requested(), len(l.ours()))
		}
	})
}

// MaxNodes bounds what all keys together may own; a released node makes room for
// others.
func TestMaxNodesBoundsAllKeys(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{Ceilings: claims.Ceilings{MaxNodes: 3}})
		claim := func(i int) (lkepool.Node, error) {
			k := key
			k.NodePool = fmt.Sprintf("pool-%d", i%2)
			return p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k})
		}
		var first lkepool.Node
		for i := range 5 {
			node, err := claim(i)
			if want := claims.Kind(""); i < 3 && claims.KindOf(err) != want || i >= 3 && claims.KindOf(err) != claims.KindQuotaExceeded {
				t.Errorf("claim %d: %v", i, err)
			}
			if i == 0 {
				first = node
			}
		}
		releaseOne(t, p.Allocator, first.InstanceID)
		if _, err := claim(4); err != nil {
			t.Error(err)
		}
		if l.count() != 3 || l.requested() != 4 {
			t.Errorf("the pools hold %d, %d were bought", l.count(), l.requested())
		}
	})
}

// After a second node in a row that did not join, the next purchase for the key
// waits; a node that joins ends that.
func TestFailedNodesDelayTheNextPurchase(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Fast()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		for i, pause := range []time.Duration{0, 0, time.Minute, 5 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
			began := time.Now()
			request := lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key}
			_, err := p.Claim(within(t, time.Minute), request)
			for claims.KindOf(err) == claims.KindInsufficientCapacity {
				time.Sleep(5 * time.Second)
				_, err = p.Claim(within(t, time.Minute), request)
			}
			if took := time.Since(began); err != nil || took < pause-10*time.Second || took > pause+30*time.Second {
				t.Errorf("node %d came after %s, want %s: %v", i, took, pause, err)
			}
			if i < 5 {
				p.Failed(key)
			}
		}
		p.Joined(key)
		began := time.Now()
		if _, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "after"}, Key: key}); err != nil ||
			time.Since(began) > 30*time.Second {
			t.Errorf("after a node that joined: %s, %v", time.Since(began), err)
		}
	})
}
