package instances_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

const (
	instancesRoute = "/linode/instances"
	instanceRoute  = "/linode/instances/{linodeId}"
	clusterTag     = "karpenter.k8s.linode/cluster=demo"
)

// engine is the user whose token the engine has.
const engine = "user1"

// lab is a simulated account with a Linode of a person, one of another cluster
// whose name begins like ours, and an LKE cluster. None of them may be touched.
type lab struct {
	t       *testing.T
	sim     *linodesim.Sim
	foreign []int
	mu      sync.Mutex
	// requests are method and path of all that was sent.
	requests []string
	bodies   []string
	// page is the size of the pages that lists are read in, 0 for what the client asks for.
	page int
	// wrongly are the times of wrong 404s.
	wrongly []time.Time
}

// wronglyHeader marks a wrong 404, for the tests alone.
const wronglyHeader = "X-Wrongly"

func newLab(t *testing.T, cfg linodesim.Config) *lab {
	t.Helper()
	cfg.ValidateAnswers = true
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, sim: sim}
	for _, spec := range []linodesim.InstanceSpec{
		{Label: "of-a-person", Type: "g6-nanode-1", Image: "linode/debian12"},
		{Label: "demo2-worker", Type: "g6-nanode-1", Image: "linode/debian12", Tags: []string{clusterTag + "2", "karpenter.sh/nodeclaim=worker"}},
		{Label: "cluster-alone", Type: "g6-nanode-1", Image: "linode/debian12", Tags: []string{clusterTag}},
	} {
		id, err := sim.AddInstance(spec)
		if err != nil {
			t.Fatal(err)
		}
		l.foreign = append(l.foreign, id)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "lke", Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	l.foreign = append(l.foreign, info.Pools[0].Nodes[0].InstanceID)
	t.Cleanup(l.audit)
	return l
}

// audit checks that nothing foreign was modified, and that the simulator's
// answers were as the API's are described.
func (l *lab) audit() {
	for _, violation := range l.sim.Violations() {
		l.t.Errorf("simulator: %s", violation)
	}
	for _, e := range l.sim.Audit() {
		if e.Actor.User == engine && slices.Contains(l.foreign, e.InstanceID) {
			l.t.Errorf("a Linode of another owner was modified: %+v", e)
		}
	}
}

// process is one life of a program with a Manager.
type process struct {
	*instances.Manager
	kill context.CancelFunc
}

var errKilled = errors.New("the process was killed")

// start begins a process. A killed process sends no further request, and its requests under way end at once, with or without their
// effect.
func (l *lab) start(cfg instances.Config) *process {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l.t.Cleanup(cancel)
	client, err := linode.New(linode.Config{
		Token: linode.StaticToken(linodesim.DefaultToken), Transport: mortal{ctx: ctx, next: l.sim.Transport(), lab: l},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	backend, err := linodeapi.New(client)
	if err != nil {
		l.t.Fatal(err)
	}
	if cfg.Cluster == "" {
		cfg.Cluster = "demo"
	}
	if cfg.Records == nil {
		cfg.Records = &claims.RecordMap{}
	}
	manager, err := instances.New(backend, cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	return &process{Manager: manager, kill: cancel}
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
	m.lab.note(r)
	sent := r.Clone(ctx)
	if query := sent.URL.Query(); m.lab.page > 0 && query.Has("page_size") {
		query.Set("page_size", strconv.Itoa(m.lab.page))
		sent.URL.RawQuery = query.Encode()
	}
	answer, err := m.next.RoundTrip(sent)
	if err == nil && answer.Header.Get(wronglyHeader) != "" {
		m.lab.noteWrong404()
	}
	if m.ctx.Err() != nil {
		return nil, errKilled
	}
	return answer, err
}

func (l *lab) note(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r.Method+" "+r.URL.Path)
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			l.bodies = append(l.bodies, string(text))
		}
	}
}

func (l *lab) noteWrong404() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrongly = append(l.wrongly, time.Now())
}

// groups counts the groups of three wrong 404s or more, each within a time.
func (l *lab) groups(within time.Duration) (groups int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := l.wrongly; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Sub(rest[0]) <= within {
			n++
		}
		if n > 2 {
			groups++
		}
		rest = rest[n:]
	}
	return groups
}

// sent counts the requests with a method so far, "" for all.
func (l *lab) sent(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, request := range l.requests {
		if strings.HasPrefix(request, method) {
			n++
		}
	}
	return n
}

// throttled counts the answers 429.
func (l *lab) throttled() int {
	n := 0
	for _, c := range l.sim.Calls() {
		if c.Status == http.StatusTooManyRequests {
			n += c.N
		}
	}
	return n
}

// ours are the instances that carry the tags of the cluster and a claim.
func (l *lab) ours() []linodesim.Instance {
	var all []linodesim.Instance
	for _, i := range l.sim.Snapshot().Instances {
		if !slices.Contains(l.foreign, i.ID) && i.Status != linodesim.StatusDeleting {
			all = append(all, i)
		}
	}
	return all
}

// created counts the instances that the engine ever made.
func (l *lab) created() int {
	n := 0
	for _, e := range l.sim.Audit() {
		if e.Action == linodesim.InstanceCreated && e.Actor.User == engine {
			n++
		}
	}
	return n
}

func spec(name, uid string) instances.Spec {
	return instances.Spec{
		Claimant: claims.Claimant{Name: name, UID: uid}, InstanceType: "g6-standard-2", Region: "us-ord", Image: "linode/debian12",
		Access: instances.Access{Keys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUnhNcTqJ6F6Hk5Zg3QVn0Zd3r7hB6m8tJ1kXk1f1aB me"}},
	}
}

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// create has to succeed within five minutes.
func (p *process) create(t *testing.T, s instances.Spec) instances.Instance {
	t.Helper()
	i, err := p.Create(within(t, 5*time.Minute), s)
	if err != nil {
		t.Fatalf("create %s: %v", s.Claimant.Name, err)
	}
	return i
}

func wantKind(t *testing.T, err error, kind claims.Kind) {
	t.Helper()
	if got := claims.KindOf(err); got != kind {
		t.Errorf("kind %q of %v, want %q", got, err, kind)
	}
}

// read is a GET past the engine, of what its owner would see.
func (l *lab) read(path string) string {
	l.t.Helper()
	request, err := http.NewRequest(http.MethodGet, "https://api.linode.com/v4beta"+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	answer, err := l.sim.Transport().RoundTrip(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		l.t.Fatalf("GET %s: %d, %s, %v", path, answer.StatusCode, text, err)
	}
	return string(text)
}
