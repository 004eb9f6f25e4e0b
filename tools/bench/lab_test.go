package bench_test

import (
	"fmt"
	"net/http"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

// lab is a simulated account with one cluster, in which its owner has a pool of
// one node, and the real client and engine over it.
type lab struct {
	t       *testing.T
	sim     *linodesim.Sim
	cluster linodesim.ClusterInfo
	// firewall is the firewall of all pools, 0 for no firewall.
	firewall int
	client   *linode.Client
	backend  lkepool.Backend
	pools    *allocator.Allocator
	log      *callLog
}

const plan = "g6-standard-2"

func newLab(t *testing.T, tier string, profile linodesim.Profile, seed uint64) *lab {
	t.Helper()
	l := openLab(t, profile, seed)
	var err error
	l.cluster, err = l.sim.AddCluster(linodesim.ClusterSpec{
		Label: "demo", Region: "us-ord", Tier: tier, Settled: true,
		Pools: []linodesim.PoolSpec{{Type: plan, Count: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if tier == linodesim.Enterprise {
		l.firewall = l.sim.AddFirewall(linodesim.FirewallSpec{Label: "workers"})
	}
	l.connect()
	l.lead(claims.MayStillWrite, &claims.RecordMap{})
	return l
}

// connect makes the backend over the client.
func (l *lab) connect() {
	l.t.Helper()
	var err error
	l.backend, err = lke.New(l.client, lke.Cluster{ID: l.cluster.ID, Name: l.cluster.Label, Tier: l.cluster.Tier})
	if err != nil {
		l.t.Fatal(err)
	}
}

// openLab is an account without anything, and the client.
func openLab(t *testing.T, profile linodesim.Profile, seed uint64) *lab {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{Profile: profile, Behaviour: behaviour, Seed: seed, ValidateAnswers: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, sim: sim, log: &callLog{next: sim.Transport()}}
	l.client, err = linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: l.log})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lead makes the allocator of a new process, which leads from now on.
func (l *lab) lead(after claims.Predecessor, records claims.Records) {
	l.t.Helper()
	pools, err := allocator.New(l.backend, lkepool.Config{Records: records})
	if err != nil {
		l.t.Fatal(err)
	}
	pools.Begin(after)
	l.pools = pools
}

// tally is how many requests there have been.
type tally struct {
	calls, collectionGETs, throttled int
	routes                           map[string]int
}

func (l *lab) tally() tally {
	sum := tally{routes: map[string]int{}}
	for _, c := range l.sim.Calls() {
		sum.calls += c.N
		if c.Class == "collections" && c.Method == http.MethodGet {
			sum.collectionGETs += c.N
		}
		if c.Status == http.StatusTooManyRequests {
			sum.throttled += c.N
		}
		sum.routes[c.Method+" "+c.Route] += c.N
	}
	return sum
}

func (t tally) since(before tally) tally {
	t.calls -= before.calls
	t.collectionGETs -= before.collectionGETs
	t.throttled -= before.throttled
	for route, n := range before.routes {
		if t.routes[route] -= n; t.routes[route] == 0 {
			delete(t.routes, route)
		}
	}
	return t
}

// bought counts requests through the API that add nodes.
type bought struct {
	// nodes were requested in so many purchases, each of which changed one pool.
	nodes, purchases int
	last             time.Time
}

// boughtSince sums up the purchases since then.
func (l *lab) boughtSince(began time.Time) bought {
	type purchase struct {
		pool int
		at   time.Time
	}
	var sum bought
	purchases := map[purchase]bool{}
	for _, e := range l.sim.Audit() {
		if e.Action == linodesim.NodeRequested && e.Actor.User != "owner" && !e.At.Before(began) {
			purchases[purchase{e.PoolID, e.At}] = true
			sum.nodes, sum.last = sum.nodes+1, e.At
		}
	}
	sum.purchases = len(purchases)
	return sum
}

// present returns the cluster's instances except for the owner's own.
func (l *lab) present() int {
	n := 0
	for _, i := range l.sim.Snapshot().Instances {
		if len(l.cluster.Pools) == 0 || i.PoolID != l.cluster.Pools[0].ID {
			n++
		}
	}
	return n
}

// callLog notes what was sent when, for the search for the reason of a
// figure, and lets a measurement look at the moment of each answer.
type callLog struct {
	next   http.RoundTripper
	answer func()

	mu    sync.Mutex
	began time.Time
	on    bool
	lines []string
	// creations are the times that creations of Linodes took, in the order in which they
	// were sent, before how long all requests before the first of them did.
	creations []*time.Duration
	before    time.Duration
}

// start notes calls from now on.
func (c *callLog) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began, c.on = time.Now(), true
}

func (c *callLog) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, took := time.Now(), new(time.Duration)
	c.mu.Lock()
	if c.on && r.Method == http.MethodPost && path.Base(r.URL.Path) == "instances" {
		c.creations = append(c.creations, took)
	}
	c.mu.Unlock()
	answer, err := c.next.RoundTrip(r)
	*took = time.Since(sent)
	if c.answer != nil {
		c.answer()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.on && len(c.creations) == 0 {
		c.before += *took
	}
	if c.on {
		status := 0
		if answer != nil {
			status = answer.StatusCode
		}
		c.lines = append(c.lines, fmt.Sprintf("%8.2fs +%4.2fs %-6s %s %s %d",
			sent.Sub(c.began).Seconds(), time.Since(sent).Seconds(), r.Method, r.URL.RequestURI(), r.Header.Get("X-Filter"), status))
	}
	return answer, err
}
