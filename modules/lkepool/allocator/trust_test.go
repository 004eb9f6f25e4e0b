package allocator_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
)

// Answers that are out of date, incomplete or untrue take nothing away.

var realistic = linodesim.Config{Profile: linodesim.Realistic()}

// claimMore claims for further claimants at once.
func claimMore(t *testing.T, p *process, prefix string, n int) []lkepool.Node {
	t.Helper()
	nodes := make([]lkepool.Node, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			var err error
			who := claims.Claimant{Name: fmt.Sprintf("%s-%d", prefix, i)}
			if nodes[i], err = p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: who, Key: key}); err != nil {
				t.Errorf("%s: %v", who.Name, err)
			}
		})
	}
	group.Wait()
	return nodes
}

// existing checks that all nodes still have their instance.
func existing(t *testing.T, l *lab, nodes []lkepool.Node) {
	t.Helper()
	there := map[int]bool{}
	for _, instance := range l.instances() {
		there[instance.ID] = true
	}
	for _, node := range nodes {
		if !there[node.InstanceID] {
			t.Errorf("%d of %s is gone", node.InstanceID, node.Claim)
		}
	}
}

// A pool that was one node large a moment ago, and is read as it was then, is
// not dropped with the last node that this shows, nor is its count set back.
func TestStaleReadsTakeNothingAway(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Fast()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		first := claimMore(t, p, "first", 1)[0]
		time.Sleep(time.Minute)
		l.sim.Fail(linodesim.Rule{Kind: linodesim.Reads, View: linodesim.View{Stale: 3900 * time.Millisecond}})
		more := claimMore(t, p, "more", 4)
		var group sync.WaitGroup
		group.Go(func() { releaseOne(t, p.Allocator, first.InstanceID) })
		late := claimMore(t, p, "late", 6)
		group.Wait()
		time.Sleep(time.Minute)
		existing(t, l, more)
		existing(t, l, late)
		if l.count() != 10 || l.requested() != 11 {
			t.Errorf("the pools hold %d, %d were bought", l.count(), l.requested())
		}
	})
}

// A process that was constructed long before it leads hands out nothing that its
// predecessor claimed a moment ago, although lists do not show that yet.
func TestTakeOverByAStandbyProcess(t *testing.T) {
	for _, lag := range []time.Duration{3 * time.Second, time.Minute} {
		t.Run(lag.String(), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Fast()}, func(t *testing.T, l *lab) {
				standby := l.start(lkepool.Config{})
				p := l.start(lkepool.Config{})
				claimMore(t, p, "early", 1)
				time.Sleep(10 * time.Minute)
				count := 3
				if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				l.staleLists(lag)
				nodes := claimMore(t, p, "old", 2)
				p.kill()
				standby.Begin(allocator.Ended)
				nodes = append(nodes, claimMore(t, standby, "new", 2)...)
				distinct(t, nodes)
				again := claimMore(t, standby, "old", 2)
				for i, node := range again {
					if node.InstanceID != nodes[i].InstanceID {
						t.Errorf("%s had %d and got %d", node.Claim, nodes[i].InstanceID, node.InstanceID)
					}
				}
				if lag <= settle && l.requested() != 3 {
					t.Errorf("%d were bought", l.requested())
				}
			})
		})
	}
}

// Lists that lack an instance or a pool, or are empty, and an object that is
// answered 404 once, hide no claimed node and free none.
func TestMissingEntriesAndSpurious404s(t *testing.T) {
	for name, rule := range map[string]linodesim.Rule{
		"lists lack an entry":          {Kind: linodesim.Lists, View: linodesim.View{Missing: 1}},
		"lists are empty":              {Kind: linodesim.Lists, View: linodesim.View{Missing: 1000}},
		"the list of pools is empty":   {Method: http.MethodGet, Route: poolsRoute, View: linodesim.View{Missing: 1000}, Times: 1},
		"a pool is answered 404 once":  {Method: http.MethodGet, Route: poolRoute, Answer: linodesim.Answer{Status: 404}, Times: 1},
		"an instance is 404 once":      {Method: http.MethodGet, Route: instanceRoute, Answer: linodesim.Answer{Status: 404}, Times: 1},
		"lists are two minutes behind": {Kind: linodesim.Lists, View: linodesim.View{Stale: 2 * time.Minute}, UpTo: true},
	} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, realistic, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(3 * time.Minute)
				nodes := claimAll(t, p.Allocator, key, 10, 10*time.Minute)
				time.Sleep(3 * time.Minute)
				l.sim.Fail(rule)
				for i := range 5 {
					if claims := claimsOf(t, p.Allocator); len(claims) != 10 {
						t.Errorf("%d of 10 are listed", len(claims))
					}
					nodes = append(nodes, claimMore(t, p, fmt.Sprintf("late-%d", i), 1)...)
					if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(10)}); err != nil || len(collected.Removed) != 0 {
						t.Errorf("collected %+v, %v", collected, err)
					}
					releaseOne(t, p.Allocator, nodes[10].InstanceID)
					nodes = nodes[:10]
				}
				distinct(t, nodes)
				existing(t, l, nodes)
			})
		})
	}
}

// A Linode that was given another label is listed, kept from other claimants,
// and released, although the filtered list of Standard does not show it: the caller's records name it.
func TestRenamedLinode(t *testing.T) {
	onBothTiers(t, linodesim.Config{
		Profile: linodesim.Realistic(), Tokens: map[string][]string{linodesim.DefaultToken: {"*"}, personToken: {"*"}},
	}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		node := claimAll(t, p.Allocator, key, 2, 10*time.Minute)[0]
		var records claims.RecordMap
		records.Store(node.InstanceID, claims.Claimant{Name: names(2)[0]})
		time.Sleep(3 * time.Minute)
		if status := l.rename(node.InstanceID); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		for range 2 {
			if claims := claimsOf(t, p.Allocator); !slices.Equal(claims, names(2)) {
				t.Errorf("listed %v", claims)
			}
			if got := claimMore(t, p, "late", 1)[0]; got.InstanceID == node.InstanceID {
				t.Errorf("%d was handed out again", got.InstanceID)
			} else {
				releaseOne(t, p.Allocator, got.InstanceID)
			}
			p.kill()
			p = l.start(lkepool.Config{Records: &records})
		}
		releaseOne(t, p.Allocator, node.InstanceID)
		if l.count() != 1 {
			t.Errorf("the pools hold %d", l.count())
		}
	})
}

// A removal that was accepted without effect is sent again.
func TestRemovalWithoutEffectIsSentAgain(t *testing.T) {
	for _, n := range []int{1, 3} { // the last node goes with its pool
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onBothTiers(t, realistic, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				nodes := claimAll(t, p.Allocator, key, n, 10*time.Minute)
				time.Sleep(3 * time.Minute)
				rule := l.sim.Fail(linodesim.Rule{Method: http.MethodDelete, View: linodesim.View{NoEffect: true}, Times: 1})
				releaseOne(t, p.Allocator, nodes[0].InstanceID)
				if l.sim.Hits(rule) != 1 || l.count() != n-1 || len(l.instances()) != n-1 {
					t.Errorf("the pools hold %d, with %d instances", l.count(), len(l.instances()))
				}
			})
		})
	}
}

// An instance whose tags cannot be written is put aside; its claimant gets
// another one, at the cost of one node.
func TestInstanceThatCannotBeTaggedIsPutAside(t *testing.T) {
	for name, rule := range map[string]linodesim.Rule{
		"500":         {Answer: linodesim.Answer{Status: 500}},
		"busy":        {Answer: linodesim.Answer{Status: 400, Reason: "Linode busy."}},
		"not found":   {Answer: linodesim.Answer{Status: 404, Reason: "Not found"}},
		"lost answer": {Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, realistic, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				var mu sync.Mutex
				broken := ""
				rule.Method, rule.Route = http.MethodPut, instanceRoute
				rule.Match = func(r *http.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					if broken == "" {
						broken = r.URL.Path
					}
					return broken == r.URL.Path
				}
				l.sim.Fail(rule)
				began := time.Now()
				node := claimMore(t, p, "a", 1)[0]
				if strings.HasSuffix(broken, fmt.Sprint(node.InstanceID)) || l.requested() > 2 || time.Since(began) > 3*time.Minute {
					t.Errorf("got %d after %s, %d were bought; %s cannot be tagged", node.InstanceID, time.Since(began), l.requested(), broken)
				}
			})
		})
	}
}
