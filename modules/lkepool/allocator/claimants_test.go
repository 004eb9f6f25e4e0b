package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
)

var key = lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}

func newAllocator(t *testing.T, backend lkepool.Backend, cfg lkepool.Config) *allocator.Allocator {
	t.Helper()
	if cfg.Records == nil {
		cfg.Records = &claims.RecordMap{}
	}
	a, err := allocator.New(backend, cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.Begin(allocator.Ended)
	return a
}

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context { return contextWithin(t, d) }

func contextWithin(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// claimAll claims for n claimants at once and returns what they got.
func claimAll(t *testing.T, allocator *allocator.Allocator, key lkepool.Key, n int, patience time.Duration) []lkepool.Node {
	t.Helper()
	nodes := make([]lkepool.Node, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			var err error
			request := lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("claim-%03d", i)}, Key: key}
			if nodes[i], err = allocator.Claim(within(t, patience), request); err != nil {
				t.Errorf("%s: %v", request.Claimant.Name, err)
			}
		})
	}
	group.Wait()
	return nodes
}

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("claim-%03d", i))
	}
	return all
}

// aliveOf is a sweep's question, answered with these names.
func aliveOf(names ...string) func(context.Context) ([]claims.Claimant, error) {
	var all []claims.Claimant
	for _, name := range names {
		all = append(all, claims.Claimant{Name: name})
	}
	return func(context.Context) ([]claims.Claimant, error) { return all, nil }
}

func aliveNames(n int) func(context.Context) ([]claims.Claimant, error) { return aliveOf(names(n)...) }

func noneAlive(context.Context) ([]claims.Claimant, error) { return nil, nil }

func distinct(t *testing.T, nodes []lkepool.Node) {
	t.Helper()
	seen := map[int]string{}
	for _, node := range nodes {
		if other, twice := seen[node.InstanceID]; twice {
			t.Errorf("instance %d was given to %s and %s", node.InstanceID, other, node.Claim)
		}
		seen[node.InstanceID] = node.Claim
	}
}

func onBothTiers(t *testing.T, cfg linodesim.Config, test func(*testing.T, *lab)) {
	t.Helper()
	for _, tier := range tiers {
		t.Run(tier, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, tier, cfg)
				test(t, l)
				l.audit()
				// Writes whose callers have left end by themselves.
				time.Sleep(5 * time.Minute)
			})
		})
	}
}

func claimsOf(t *testing.T, allocator *allocator.Allocator) []string {
	t.Helper()
	list, err := allocator.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var claims []string
	for _, node := range list {
		claims = append(claims, node.Claim)
	}
	slices.Sort(claims)
	return claims
}

// releaseAll releases nodes at once, and again until each is proven gone.
func releaseAll(t *testing.T, a *allocator.Allocator, nodes []lkepool.Node) {
	t.Helper()
	var group sync.WaitGroup
	for _, node := range nodes {
		group.Go(func() { releaseOne(t, a, node.InstanceID) })
	}
	group.Wait()
}

func releaseOne(t *testing.T, a *allocator.Allocator, id int) {
	t.Helper()
	for range 200 {
		err := a.Release(t.Context(), id, claims.Claimant{})
		switch claims.KindOf(err) {
		case claims.KindNotFound:
			return
		case "", claims.KindProvisioning, claims.KindUnavailable, claims.KindRateLimited:
			time.Sleep(5 * time.Second)
		default:
			t.Errorf("release %d: %v", id, err)
			return
		}
	}
	t.Errorf("instance %d was never proven gone", id)
}
