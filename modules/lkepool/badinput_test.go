package lkepool_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// A refusal names the field, the value and the rule.
func TestRefusalsNameFieldValueAndRule(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		name, field, value, rule string
		change                   func(*lkepool.Request)
	}{
		{"no instance type", "Key.InstanceType", "", "is empty", func(r *lkepool.Request) { r.Key.InstanceType = "" }},
		{"label of Kubernetes", "Key.Template.Labels", "kubernetes.io/os", "refuses keys containing", func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"kubernetes.io/os": "linux"} }},
		{"label of Linode", "Key.Template.Labels", "lke.linode.com/x", "refuses keys containing", func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"lke.linode.com/x": "y"} }},
		{"label key too long", "Key.Template.Labels", long, "at most 63 characters", func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{long: ""} }},
		{"label value too long", "Key.Template.Labels", long, "at most 63", func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"team": long} }},
		{"label value", "Key.Template.Labels", "-a", "letters, digits", func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"team": "-a"} }},
		{"taint effect", "Key.Template.Taints[0]", "Sometimes", "must be NoSchedule, PreferNoSchedule or NoExecute", func(r *lkepool.Request) { r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Effect: "Sometimes"}} }},
		{"taint key too long", "Key.Template.Taints[1]", long, "at most 63 characters", func(r *lkepool.Request) {
			r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: long, Effect: "NoSchedule"}}
		}},
		{"tag of 51 characters", "Request.Tags[0]", strings.Repeat("t", 51), "has 51 characters; a tag has 3 to 50", func(r *lkepool.Request) { r.Tags = []string{strings.Repeat("t", 51)} }},
		{"pool tag of 51 characters", "Request.PoolTags[0]", strings.Repeat("t", 51), "has 51 characters; a tag has 3 to 50", func(r *lkepool.Request) { r.PoolTags = []string{strings.Repeat("t", 51)} }},
		{"pool name of 64 characters", "Key.NodePool", long, "at most 63", func(r *lkepool.Request) { r.Key.NodePool = long }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				r := lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key}
				c.change(&r)
				_, err := l.start(lkepool.Config{}).Claim(within(t, time.Minute), r)
				e, ok := errors.AsType[*lkepool.Error](err)
				if !ok || e.Kind != lkepool.KindInvalid || e.Field != c.field || !strings.Contains(err.Error(), c.value) || !strings.Contains(err.Error(), c.rule) {
					t.Errorf("got %v", err)
				}
				if total, _, _ := l.calls(); total != 0 {
					t.Errorf("%d requests were sent", total)
				}
			})
		})
	}
}

// 63 characters are a Kubernetes name like any other: the tag is shortened, and
// two long names stay two.
func TestPoolNameOf63Characters(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		pools := map[int]bool{}
		for _, end := range []string{"a", "b"} {
			k := key
			k.NodePool = strings.Repeat("p", 62) + end
			node, err := p.Claim(within(t, time.Minute), lkepool.Request{
				Claimant: k.NodePool + "-x7k2p", Key: k, PoolTags: []string{lkepool.Tag("karpenter.sh/nodepool", k.NodePool)},
			})
			if err != nil {
				t.Fatal(err)
			}
			pools[node.PoolID] = true
			for _, tag := range node.Tags {
				if len(tag) > lkepool.MaxTagLength {
					t.Errorf("tag %q has %d characters", tag, len(tag))
				}
			}
			if again, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: k.NodePool + "-x7k2p", Key: k}); err != nil || again.InstanceID != node.InstanceID {
				t.Errorf("asked again: %+v, %v", again, err)
			}
		}
		if len(pools) != 2 {
			t.Errorf("two names share a pool: %v", pools)
		}
	})
}

func TestNegativeDurations(t *testing.T) {
	for field, cfg := range map[string]lkepool.Config{
		"Config.OrphanTTL":              {OrphanTTL: -time.Minute},
		"Config.RetryDelay":             {RetryDelay: -time.Minute},
		"Config.SettleTime": {SettleTime: -time.Minute},
		"Config.BootTimeout":            {BootTimeout: -time.Minute},
		"Config.PendingTimeout":         {PendingTimeout: -time.Minute},
	} {
		_, err := lkepool.New(memory.New(memory.Config{}), cfg)
		e, ok := errors.AsType[*lkepool.Error](err)
		if !ok || e.Kind != lkepool.KindInvalid || e.Field != field || !strings.Contains(err.Error(), "-1m0s") || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// loseCluster answers as the API does about a cluster that does not exist.
func (l *lab) loseCluster() {
	for _, route := range []string{poolsRoute, poolRoute, nodeRoute, "/lke/clusters/{clusterId}"} {
		l.sim.Fail(linodesim.Rule{Route: route, Status: 404})
	}
}

// A cluster that disappears is an error of its own, whatever was under way, and
// nobody's instance is reported as gone for it.
func TestClusterDisappears(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		node := claimAll(t, p.Allocator, key, 1, 5*time.Minute)[0]
		time.Sleep(2 * time.Minute)
		l.sim.StallNodes(0, 1)
		waiting := make(chan error, 1)
		go func() {
			_, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "waiting"}, Key: key})
			waiting <- err
		}()
		time.Sleep(20 * time.Second)
		l.loseCluster()
		before, _, _ := l.calls()
		if err := <-waiting; lkepool.KindOf(err) != lkepool.KindConflict {
			t.Errorf("who waited: %v", err)
		}
		if _, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "b"}, Key: key}); lkepool.KindOf(err) != lkepool.KindConflict {
			t.Errorf("claim: %v", err)
		}
		if _, err := p.List(t.Context()); lkepool.KindOf(err) != lkepool.KindConflict {
			t.Errorf("list: %v", err)
		}
		if collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: nobody}); lkepool.KindOf(err) != lkepool.KindConflict || len(collected.Released) != 0 {
			t.Errorf("collect: %+v, %v", collected, err)
		}
		if err := p.Release(t.Context(), node.InstanceID, lkepool.Claimant{}); lkepool.KindOf(err) == lkepool.KindNotFound {
			t.Errorf("release: %v", err)
		}
		if _, err := p.Get(t.Context(), node.InstanceID); lkepool.KindOf(err) == lkepool.KindNotFound {
			t.Errorf("get: %v", err)
		}
		if after, _, _ := l.calls(); after-before > 60 {
			t.Errorf("%d calls to a cluster that is not there", after-before)
		}
	})
}

// A token that loses a scope in the middle: everybody is told at once, nothing
// goes on in a loop, and what was asked for is found when the scope is back.
func TestTokenLosesItsScope(t *testing.T) {
	for _, lost := range []string{"linodes:read_only lke:read_write", "linodes:read_write lke:read_only", "lke:read_write", "linodes:read_write"} {
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
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: swap{token: &token, next: l.sim.Transport()}})
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
			_, err := a.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key})
			// A right that is not needed any more is not missed.
			if err != nil && lkepool.KindOf(err) != lkepool.KindForbidden {
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
			if _, err := a.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key}); err != nil {
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

// A count changed by hand is taken as it is: more nodes are used or collected,
// fewer are asked for again. Somebody who keeps lowering it is not fought.
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
		raised := l.raised()
		var told atomic.Int32
		var late sync.WaitGroup
		for i := range 6 {
			late.Go(func() {
				_, err := p.Claim(within(t, 30*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key})
				switch lkepool.KindOf(err) {
				case lkepool.KindConflict:
					told.Add(1)
				case "":
				default:
					t.Errorf("late-%d: %v", i, err)
				}
			})
		}
		late.Wait()
		// One node is what the count allows, and whose it is LKE decides: a few of
		// them may get it one after the other before it is given up.
		if told.Load() < 2 {
			t.Errorf("%d were told", told.Load())
		}
		after, _, _ := l.calls()
		if after-before > 80 || l.raised()-raised > 4 {
			t.Errorf("%d calls, the count was raised %d times", after-before, l.raised()-raised)
		}
		stop()
		group.Wait()
		time.Sleep(15 * time.Minute)
		// LKE may have taken the claimed node; nobody else's claim is lost by that.
		if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "later"}, Key: key}); err != nil {
			t.Errorf("when it is over: %v", err)
		}
	})
}

// One lowering is one, however often the request that makes up for it is refused.
func TestARefusalIsNoLowering(t *testing.T) {
	const n = 6
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		first := claimAll(t, p.Allocator, key, 1, 5*time.Minute)[0]
		var late sync.WaitGroup
		for i := range n {
			late.Go(func() {
				request := lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key}
				for {
					_, err := p.Claim(within(t, 30*time.Minute), request)
					if lkepool.KindOf(err) != lkepool.KindUnavailable {
						if err != nil {
							t.Errorf("%s: %v", request.Claimant, err)
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
		refusal := l.sim.Fail(linodesim.Rule{Method: "PUT", Route: poolRoute, Status: 500})
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
		if after, err := strconv.Atoi(e.After); err == nil && e.Action == world.PoolCount && e.Actor.User == engine && after > before {
			n++
		}
	}
	return n
}

// At rest, a pool that was edited by hand costs no writes at all.
func TestEditedPoolsAreLeftAlone(t *testing.T) {
	k := key
	k.Template.Labels = map[string]string{"example.com/team": "a"}
	for name, edit := range handEdits() {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				nodes := claimAll(t, p.Allocator, k, 3, time.Minute)
				if err := l.sim.EditPool(l.cluster.ID, nodes[0].PoolID, edit); err != nil {
					t.Fatal(err)
				}
				before, _, _ := l.calls()
				for range 30 {
					if collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(3)}); err != nil || len(collected.Released) != 0 {
						t.Errorf("collected %+v, %v", collected, err)
					}
					if list, err := p.List(t.Context()); err != nil || len(list) != 3 {
						t.Errorf("listed %d, %v", len(list), err)
					}
					time.Sleep(2 * time.Minute)
				}
				if after, _, _ := l.calls(); after-before != 120 {
					t.Errorf("%d calls for 60 lists of two pages", after-before)
				}
				// Those who have a node keep it, and give it back.
				for i, node := range nodes {
					got, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: names(3)[i], Key: k})
					if err != nil || got.InstanceID != node.InstanceID {
						t.Errorf("asked again: %d, %v", got.InstanceID, err)
					}
				}
				releaseAll(t, p.Allocator, nodes)
			})
		})
	}
}

// Somebody, or a program, edits every pool of a key as soon as it is there, while
// claimants wait for its nodes: after a few pools they are told that there is a
// conflict. Nothing is changed back, and what came for nothing is collected.
func TestPoolsEditedUnderThoseWhoWait(t *testing.T) {
	k := key
	k.Template.Labels = map[string]string{"example.com/team": "a"}
	for name, edit := range handEdits() {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				ctx, stop := context.WithCancel(t.Context())
				var editor, group sync.WaitGroup
				editor.Go(func() { l.editAll(ctx, edit) })
				for i, claimant := range names(4) {
					group.Go(func() {
						time.Sleep(time.Duration(i) * 20 * time.Second)
						_, err := p.Claim(within(t, 30*time.Minute), lkepool.Request{Claimant: claimant, Key: k})
						if lkepool.KindOf(err) != lkepool.KindConflict {
							t.Errorf("%s: %v", claimant, err)
						}
					})
				}
				group.Wait()
				if total, _, _ := l.calls(); total > 60 || len(l.ours()) != 3 || l.requested() > 12 {
					t.Errorf("%d calls, %d pools, %d nodes asked for", total, len(l.ours()), l.requested())
				}
				time.Sleep(15 * time.Minute)
				for range 3 {
					if _, err := p.Collect(t.Context(), lkepool.Sweep{Alive: nobody}); err != nil {
						t.Error(err)
					}
					time.Sleep(10 * time.Minute)
				}
				stop()
				editor.Wait()
				if l.count() != 0 {
					t.Errorf("the pools still hold %d", l.count())
				}
				for _, e := range l.sim.Audit() {
					if e.Action == world.PoolEdited && e.Actor.User == engine {
						t.Errorf("edited by the engine: %+v", e)
					}
				}
				if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "later"}, Key: k}); err != nil {
					t.Errorf("when it is over: %v", err)
				}
			})
		})
	}
}

// editAll edits the engine's pools again and again.
func (l *lab) editAll(ctx context.Context, edit linodesim.PoolEdit) {
	for ctx.Err() == nil {
		for _, pool := range l.ours() {
			if err := l.sim.EditPool(l.cluster.ID, pool.ID, edit); err != nil {
				l.t.Error(err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}
