package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

const (
	claimTag   = "karpenter.sh/nodeclaim="
	poolKeyTag = "karpenter.k8s.linode/pool-key="
	// removingTag is on an instance that is being removed.
	removingTag = "karpenter.k8s.linode/removing=true"
)

// engine is the user whose token the engine has.
const engine = "user1"

const (
	poolsRoute     = "/lke/clusters/{clusterId}/pools"
	poolRoute      = "/lke/clusters/{clusterId}/pools/{poolId}"
	nodeRoute      = "/lke/clusters/{clusterId}/nodes/{nodeId}"
	instancesRoute = "/linode/instances"
	instanceRoute  = "/linode/instances/{linodeId}"
)

var tiers = []string{lke.Standard, lke.Enterprise}

// lab is a simulated account with one cluster, in which a pool of another
// owner exists from the start, and a second cluster that must not be touched.
type lab struct {
	t       *testing.T
	sim     *linodesim.Sim
	tier    string
	cluster linodesim.ClusterInfo
	other   linodesim.ClusterInfo

	// sending is called before each request, sent after it.
	sending func(*http.Request)
	sent    func(sentRequest)
	// pageSize is how many entries a page of a list has at most, 0 for as many as were asked for.
	pageSize int
	// failures are the errors so far, which known guards.
	known    sync.Mutex
	failures []string
}

func newLab(t *testing.T, tier string, cfg linodesim.Config) *lab {
	t.Helper()
	cfg.ValidateAnswers = true
	return openLab(t, tier, cfg)
}

// openLab leaves it to cfg whether answers are compared with the API's
// description, which is a third of a life's cost.
func openLab(t *testing.T, tier string, cfg linodesim.Config) *lab {
	t.Helper()
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, violation := range sim.Violations() {
			t.Errorf("simulator: %s", violation)
		}
	})
	l := &lab{t: t, sim: sim, tier: tier, sending: func(*http.Request) {}, sent: func(sentRequest) {}}
	for _, c := range []struct {
		label string
		into  *linodesim.ClusterInfo
	}{{"demo", &l.cluster}, {"other", &l.other}} {
		*c.into, err = sim.AddCluster(linodesim.ClusterSpec{
			Label: c.label, Tier: tier, Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 2, Tags: []string{"another-owner"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// process is one life of a program with an allocator.
type process struct {
	*allocator.Allocator
	ctx  context.Context
	kill context.CancelFunc
}

// sentRequest is a request that has ended for the process that sent it.
type sentRequest struct {
	*http.Request
	by context.Context
	// status is the HTTP status of the answer, 0 if the process got no answer.
	status int
}

func (r sentRequest) failed() bool { return r.status == 0 || r.status >= http.StatusBadRequest }

var errKilled = errors.New("the process was killed")

// start begins a process. When it is killed its requests end at once, whether
// they have had their effect or not, and it can make no more.
func (l *lab) start(cfg lkepool.Config) *process {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l.t.Cleanup(cancel)
	client, err := linode.New(linode.Config{
		Token:     linode.StaticToken(linodesim.DefaultToken),
		Transport: mortal{ctx: ctx, next: l.sim.Transport(), lab: l},
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
	lab  *lab
}

func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.ctx.Err() != nil {
		return nil, errKilled
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	m.lab.sending(r)
	end := sentRequest{Request: r, by: m.ctx}
	answer, err := m.next.RoundTrip(m.lab.inPages(r.WithContext(ctx)))
	if err == nil && m.ctx.Err() == nil {
		end.status = answer.StatusCode
	}
	m.lab.sent(end)
	if m.ctx.Err() != nil {
		return nil, errKilled
	}
	return answer, err
}

// inPages makes a list have smaller pages than the client asks for.
func (l *lab) inPages(r *http.Request) *http.Request {
	if values := r.URL.Query(); l.pageSize > 0 && values.Has("page_size") {
		values.Set("page_size", strconv.Itoa(l.pageSize))
		r = r.Clone(r.Context())
		r.URL.RawQuery = values.Encode()
	}
	return r
}

// errorf fails the test and remembers why, for people who watch a long run.
func (l *lab) errorf(format string, args ...any) {
	l.t.Helper()
	l.t.Errorf(format, args...)
	l.known.Lock()
	defer l.known.Unlock()
	l.failures = append(l.failures, fmt.Sprintf(format, args...))
}

// ours are the pools that the engine made.
func (l *lab) ours() []linodesim.Pool {
	var pools []linodesim.Pool
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

func (l *lab) instances() []linodesim.Instance {
	pools := map[int]bool{}
	for _, pool := range l.ours() {
		pools[pool.ID] = true
	}
	var all []linodesim.Instance
	for _, instance := range l.sim.Snapshot().Instances {
		if pools[instance.PoolID] && instance.Status != linodesim.StatusDeleting {
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

// ownerIn is the claim with the UID of the claimant as tags record it.
func ownerIn(tags []string) string {
	claim := claimIn(tags)
	for _, tag := range tags {
		if uid, ok := strings.CutPrefix(tag, "karpenter.k8s.linode/claim-uid="); ok && claim != "" {
			claim += " with UID " + uid
		}
	}
	return claim
}

// audit checks I1, I2 and I4 over everything that happened.
func (l *lab) audit() {
	l.t.Helper()
	owner := map[int]string{}
	holds := map[string]int{}
	for _, e := range l.sim.Audit() {
		switch e.Action {
		case linodesim.InstanceTagged:
			if e.Actor.User == "owner" || slices.Contains(strings.Split(e.After, ","), removingTag) {
				continue // that an instance is being removed gives it to no claimant
			}
			before, after := owner[e.InstanceID], ownerIn(strings.Split(e.After, ","))
			if before != "" && after != before && e.Actor.User == "user1" {
				l.errorf("I1: instance %d was %s's and became %q's at %s", e.InstanceID, before, after, e.At)
			}
			if held := holds[after]; after != "" && held != 0 && held != e.InstanceID {
				l.errorf("I2: %s had %d and got %d at %s", after, held, e.InstanceID, e.At)
			}
			if after != "" {
				owner[e.InstanceID], holds[after] = after, e.InstanceID
			}
		case linodesim.InstanceDeleting, linodesim.InstanceGone, linodesim.NodeRemoved:
			if claim := owner[e.InstanceID]; holds[claim] == e.InstanceID {
				delete(holds, claim)
			}
		}
		if e.Actor.User == engine && e.ClusterID == l.other.ID {
			l.errorf("I4: another cluster was modified: %+v", e)
		}
		if e.Actor.User == engine && e.PoolID == l.cluster.Pools[0].ID {
			l.errorf("I4: another owner's pool was modified: %+v", e)
		}
	}
}

// requested counts the nodes that were requested from the API.
func (l *lab) requested() int {
	n := 0
	for _, e := range l.sim.Audit() {
		if e.Action == linodesim.NodeRequested && e.Actor.User == "user1" {
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
