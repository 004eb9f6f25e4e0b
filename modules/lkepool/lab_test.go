package lkepool_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

const claimTag = "karpenter.sh/nodeclaim="

var tiers = []string{lke.Standard, lke.Enterprise}

// lab is a simulated account with one cluster, in which a pool of somebody else
// exists from the start, and a second cluster that nobody may touch.
type lab struct {
	t       *testing.T
	sim     *linodesim.Sim
	tier    string
	cluster linodesim.ClusterInfo
	other   linodesim.ClusterInfo
}

func newLab(t *testing.T, tier string, cfg linodesim.Config) *lab {
	t.Helper()
	cfg.ValidateAnswers = true
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, violation := range sim.Violations() {
			t.Errorf("simulator: %s", violation)
		}
	})
	l := &lab{t: t, sim: sim, tier: tier}
	for _, c := range []struct {
		label string
		into  *linodesim.ClusterInfo
	}{{"demo", &l.cluster}, {"other", &l.other}} {
		*c.into, err = sim.AddCluster(linodesim.ClusterSpec{
			Label: c.label, Tier: tier, Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 2, Tags: []string{"somebody's"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// process is one life of a program with an allocator.
type process struct {
	*lkepool.Allocator
	ctx  context.Context
	kill context.CancelFunc
}

var errKilled = errors.New("the process was killed")

// start begins a process. When it is killed its requests end at once, whether
// they have had their effect or not, and it can make no more.
func (l *lab) start(cfg lkepool.Config) *process {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l.t.Cleanup(cancel)
	client, err := linode.New(linode.Config{
		Token:     linode.StaticToken(linodesim.DefaultToken),
		Transport: mortal{ctx: ctx, next: l.sim.Transport()},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	backend, err := lke.New(client, lke.Cluster{ID: l.cluster.ID, Name: "demo", Tier: l.tier})
	if err != nil {
		l.t.Fatal(err)
	}
	return &process{Allocator: newAllocator(l.t, backend, cfg), ctx: ctx, kill: cancel}
}

type mortal struct {
	ctx  context.Context
	next http.RoundTripper
}

func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.ctx.Err() != nil {
		return nil, errKilled
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	answer, err := m.next.RoundTrip(r.WithContext(ctx))
	if m.ctx.Err() != nil {
		return nil, errKilled
	}
	return answer, err
}

// ours are the pools that the engine made.
func (l *lab) ours() []world.Pool {
	var pools []world.Pool
	for _, cluster := range l.sim.Snapshot().Clusters {
		if cluster.ID != l.cluster.ID {
			continue
		}
		for _, pool := range cluster.Pools {
			if slices.Contains(pool.Tags, lkepool.ManagedTag) {
				pools = append(pools, pool)
			}
		}
	}
	return pools
}

func (l *lab) count() int {
	total := 0
	for _, pool := range l.ours() {
		total += pool.Count
	}
	return total
}

func (l *lab) instances() []world.Instance {
	pools := map[int]bool{}
	for _, pool := range l.ours() {
		pools[pool.ID] = true
	}
	var all []world.Instance
	for _, instance := range l.sim.Snapshot().Instances {
		if pools[instance.PoolID] && instance.Status != world.StatusDeleting {
			all = append(all, instance)
		}
	}
	return all
}

func claimIn(tags []string) string {
	for _, tag := range tags {
		if claim, ok := strings.CutPrefix(tag, claimTag); ok {
			return claim
		}
	}
	return ""
}

// audit checks I1, I2 and I4 over everything that happened.
func (l *lab) audit() {
	l.t.Helper()
	owner := map[int]string{}
	holds := map[string]int{}
	for _, e := range l.sim.Audit() {
		switch e.Action {
		case world.InstanceTagged:
			if e.Actor.User == "owner" {
				continue
			}
			before, after := owner[e.InstanceID], claimIn(strings.Split(e.After, ","))
			if before != "" && after != before && e.Actor.User == "user1" {
				l.t.Errorf("I1: instance %d was %s's and became %q's at %s", e.InstanceID, before, after, e.At)
			}
			if held := holds[after]; after != "" && held != 0 && held != e.InstanceID {
				l.t.Errorf("I2: %s had %d and got %d at %s", after, held, e.InstanceID, e.At)
			}
			if after != "" {
				owner[e.InstanceID], holds[after] = after, e.InstanceID
			}
		case world.InstanceDeleting, world.InstanceGone, world.NodeRemoved:
			if claim := owner[e.InstanceID]; holds[claim] == e.InstanceID {
				delete(holds, claim)
			}
		}
		if e.Actor.User == "user1" && e.ClusterID == l.other.ID {
			l.t.Errorf("I4: another cluster was modified: %+v", e)
		}
		if e.Actor.User == "user1" && e.PoolID == l.cluster.Pools[0].ID {
			l.t.Errorf("I4: somebody's pool was modified: %+v", e)
		}
	}
}

// requested counts the nodes that the API was asked for.
func (l *lab) requested() int {
	n := 0
	for _, e := range l.sim.Audit() {
		if e.Action == world.NodeRequested && e.Actor.User == "user1" {
			n++
		}
	}
	return n
}

// calls sums up the requests.
func (l *lab) calls() (total, collections, throttled int) {
	for _, c := range l.sim.Calls() {
		total += c.N
		if c.Class == "collections" {
			collections += c.N
		}
		if c.Status == http.StatusTooManyRequests {
			throttled += c.N
		}
	}
	return total, collections, throttled
}

func TestSimulatorBurst(t *testing.T) {
	for _, tier := range tiers {
		for _, profile := range []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()} {
			for _, n := range []int{1, 10, 100, 240, 500} {
				if n == 500 && tier == lke.Standard || n == 240 && tier == lke.Enterprise {
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

// releaseAll releases nodes at once, and again until each is proven gone.
func releaseAll(t *testing.T, a *lkepool.Allocator, nodes []lkepool.Node) {
	t.Helper()
	var group sync.WaitGroup
	for _, node := range nodes {
		group.Go(func() { releaseOne(t, a, node.InstanceID) })
	}
	group.Wait()
}

func releaseOne(t *testing.T, a *lkepool.Allocator, id int) {
	t.Helper()
	for range 200 {
		err := a.Release(t.Context(), id)
		switch lkepool.KindOf(err) {
		case lkepool.KindNotFound:
			return
		case "", lkepool.KindProvisioning, lkepool.KindUnavailable, lkepool.KindRateLimited:
			time.Sleep(5 * time.Second)
		default:
			t.Errorf("release %d: %v", id, err)
			return
		}
	}
	t.Errorf("instance %d was never proven gone", id)
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
