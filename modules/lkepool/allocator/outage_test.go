package allocator_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

// loseCluster answers as the API does about a cluster that does not exist.
func (l *lab) loseCluster() {
	for _, route := range []string{poolsRoute, poolRoute, nodeRoute, "/lke/clusters/{clusterId}"} {
		l.sim.Fail(linodesim.Rule{Route: route, Answer: linodesim.Answer{Status: 404}})
	}
}

// A cluster that disappears is an error of its own, in every state of the engine, and
// no instance is reported as gone for it.
func TestClusterDisappears(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		node := claimAll(t, p.Allocator, key, 1, 5*time.Minute)[0]
		time.Sleep(2 * time.Minute)
		l.sim.StallNodes(0, 1)
		waiting := make(chan error, 1)
		go func() {
			_, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "waiting"}, Key: key})
			waiting <- err
		}()
		time.Sleep(20 * time.Second)
		l.loseCluster()
		before, _, _ := l.calls()
		if err := <-waiting; claims.KindOf(err) != claims.KindConflict {
			t.Errorf("who waited: %v", err)
		}
		if _, err := p.Claim(within(t, time.Minute),
			lkepool.Request{Claimant: claims.Claimant{Name: "b"}, Key: key}); claims.KindOf(err) != claims.KindConflict {
			t.Errorf("claim: %v", err)
		}
		if _, err := p.List(t.Context()); claims.KindOf(err) != claims.KindConflict {
			t.Errorf("list: %v", err)
		}
		if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: noneAlive}); claims.KindOf(err) != claims.KindConflict ||
			len(collected.Removed) != 0 {
			t.Errorf("collect: %+v, %v", collected, err)
		}
		if err := p.Release(t.Context(), node.InstanceID, claims.Claimant{}); claims.KindOf(err) == claims.KindNotFound {
			t.Errorf("release: %v", err)
		}
		if _, err := p.Get(t.Context(), node.InstanceID); claims.KindOf(err) == claims.KindNotFound {
			t.Errorf("get: %v", err)
		}
		if after, _, _ := l.calls(); after-before > 60 {
			t.Errorf("%d calls to a cluster that is not there", after-before)
		}
	})
}

// A token that loses a scope in the middle: every claimant is refused at once,
// nothing goes on in a loop, and what was bought is found when the scope is back.
func TestTokenLosesItsScope(t *testing.T) {
	for _, lost := range []string{"linodes:read_only lke:read_write", "linodes:read_write lke:read_only", "lke:read_write",
		"linodes:read_write"} {
		for _, after := range []time.Duration{0, 30 * time.Second} {
			t.Run(fmt.Sprintf("left with %s after %s", lost, after), func(t *testing.T) {
				onBothTiers(t, linodesim.Config{Profile: linodesim.Slow(), Tokens: map[string][]string{
					linodesim.DefaultToken: {"*"}, "less": strings.Fields(lost),
				}}, func(t *testing.T, l *lab) { loseScope(t, l, after) })
			})
		}
	}
}

func loseScope(t *testing.T, l *lab, after time.Duration) {
	var token atomic.Value
	token.Store(linodesim.DefaultToken)
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken),
		Transport: swap{token: &token, next: l.sim.Transport()}})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := lke.New(client, lke.Cluster{ID: l.cluster.ID, Name: "demo", Tier: l.tier})
	if err != nil {
		t.Fatal(err)
	}
	a := newAllocator(t, backend, lkepool.Config{})
	time.Sleep(time.Minute)
	var group sync.WaitGroup
	if after == 0 {
		token.Store("less")
	}
	for i := range 5 {
		group.Go(func() {
			_, err := a.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key})
			// A right that is not needed any more is not missed.
			if err != nil && claims.KindOf(err) != claims.KindForbidden {
				t.Errorf("c%d: %v", i, err)
			}
		})
	}
	time.Sleep(after)
	token.Store("less")
	group.Wait()
	if total, _, _ := l.calls(); total > 45 {
		t.Errorf("%d calls", total)
	}
	token.Store(linodesim.DefaultToken)
	time.Sleep(time.Minute)
	for i := range 5 {
		group.Go(func() {
			request := lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key}
			_, err := a.Claim(within(t, 10*time.Minute), request)
			for began := time.Now(); claims.KindOf(err) == claims.KindForbidden && time.Since(began) < 6*time.Minute; {
				time.Sleep(10 * time.Second) // until the next probe
				_, err = a.Claim(within(t, 10*time.Minute), request)
			}
			if err != nil {
				t.Errorf("again, c%d: %v", i, err)
			}
		})
	}
	group.Wait()
	if l.count() != 5 || len(l.instances()) != 5 {
		t.Errorf("the pools hold %d, and there are %d instances", l.count(), len(l.instances()))
	}
}

// swap sends requests with the token of the moment.
type swap struct {
	token *atomic.Value
	next  http.RoundTripper
}

func (s swap) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.token.Load().(string))
	return s.next.RoundTrip(r)
}

// Waiting ends with the context, promptly, even while the API hangs.
func TestWaitingEndsWithTheContext(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 1, time.Minute)
		time.Sleep(2 * time.Minute)
		l.sim.Fail(linodesim.Rule{Delay: time.Hour})
		for name, call := range map[string]func(context.Context) error{
			"claim": func(ctx context.Context) error {
				_, err := p.Claim(ctx, lkepool.Request{Claimant: claims.Claimant{Name: "b"}, Key: key})
				return err
			},
			"release": func(ctx context.Context) error { return p.Release(ctx, nodes[0].InstanceID, claims.Claimant{}) },
			"list":    func(ctx context.Context) error { _, err := p.List(ctx); return err },
			"get":     func(ctx context.Context) error { _, err := p.Get(ctx, nodes[0].InstanceID); return err },
			"collect": func(ctx context.Context) error { _, err := p.Collect(ctx, claims.Sweep{Alive: noneAlive}); return err },
			"tags": func(ctx context.Context) error {
				return p.SetTags(ctx, nodes[0].InstanceID, claims.Claimant{}, nil, []string{"team=a"})
			},
		} {
			began := time.Now()
			if err := call(within(t, 7*time.Second)); err == nil || time.Since(began) != 7*time.Second {
				t.Errorf("%s: after %s: %v", name, time.Since(began), err)
			}
		}
	})
}
