package allocator_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

var (
	lives    = flag.Int("lives", 300, "how many random lives to run; with -short a thirtieth")
	lifeSeed = flag.Uint64("life-seed", 1, "seed of the first life; -lives 1 replays one")
)

// TestLives runs random lives of a cluster over HTTP: bursts of claimants that
// come back as Karpenter's do, releases, orphan sweeps, restarts and take-overs
// at any moment, hand edits, and every fault that the simulator has. During a
// life each answer is compared with what exists; in the end the invariants are
// checked over all that happened (life_verify_test.go).
func TestLives(t *testing.T) {
	n := *lives
	if testing.Short() {
		n = max(1, n/30)
	}
	t.Cleanup(func() { checkDrawn(t, n) })
	for i := range n {
		seed := *lifeSeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			defer func() { // a bubble that fails ends this goroutine
				if t.Failed() {
					t.Logf("replay: GOWORK=off go test -run '^TestLives$' . -lives 1 -life-seed %d -count 5", seed)
				}
			}()
			inBubble(t, func(t *testing.T) { newLife(t, seed).run() })
		})
	}
}

const (
	// settle is the engine's SettleTime.
	settle = 4 * time.Second
	chaos  = 20 * time.Minute
	// patienceAfter is how long after the last fault a claim or a release may
	// take. What takes longer never ends.
	patienceAfter = time.Hour
)

// weather selects the faults and conditions of one life.
type weather struct {
	// calm: nothing is released, refused, recycled or edited, so that exactly as
	// many nodes are bought as there are claimants.
	calm bool
	// lagging: lists lag behind writes by up to two minutes, not by 3 s.
	lagging bool
	// lossy: accepted writes have no effect. ghosts: a read answers 404 although
	// the object exists, once for each object. Together they would prove a
	// falsehood: one 404 after an accepted removal is taken as its end.
	lossy, ghosts bool
	// tardy: writes land after they were answered. grouped: everything that is read by its ID is
	// answered 404 for a while, and lists lack nothing.
	tardy, grouped bool
	// paged: lists have pages of 25 entries.
	paged bool
	// witness: the engine is given the claimants' own records.
	witness bool
	// clocks are wrong by up to a quarter of an hour, each process by another.
	clocks bool
}

// life is one random life of a cluster.
type life struct {
	*lab
	weather

	seed   uint64
	random *rand.Rand
	keys   []lkepool.Key
	// end is when the faults end, latest when every claimant must have a node.
	end, latest time.Time

	mu      sync.Mutex
	process *process
	claims  map[string]*claimant
	past    []*claimant
	events  history
	log     []string

	// writes are all that engines sent, underWay the unanswered writes, died is when the
	// process with this context was killed.
	writes   []*sentWrite
	underWay map[*http.Request]*sentWrite
	died     map[context.Context]time.Time
}

// history records the events that justify exceptions from the engine's invariants.
type history struct {
	refusals []refusal
	// forbidden is when the API last refused the token, counted when a person
	// last changed a count, by pool.
	forbidden time.Time
	counted   map[int]time.Time
	// taken counts nodes taken out of pools by hand, stripped the instances
	// whose claim was taken away, vacated the nodes that may be collected.
	taken    int
	stripped map[int]bool
	vacated  map[int]bool
	// ghosts are the paths that have answered a spurious 404, failed how many
	// writes to an instance failed.
	ghosts map[string]bool
	failed map[int]int
}

func newLife(t *testing.T, seed uint64) *life {
	random := rand.New(rand.NewPCG(seed, 7))
	coin := func(of int) bool { return random.IntN(of) == 0 }
	w := weather{calm: coin(3), lagging: coin(2), lossy: coin(3), ghosts: coin(2), clocks: coin(3),
		tardy: coin(2), grouped: coin(2), paged: coin(3)}
	w.lagging = w.lagging && !w.calm
	w.ghosts = w.ghosts && !w.lossy
	w.grouped = w.grouped && !w.lossy
	w.witness = w.lossy || coin(2)
	profiles := []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()}
	s := &life{
		seed: seed, random: random, weather: w, claims: map[string]*claimant{},
		underWay: map[*http.Request]*sentWrite{}, died: map[context.Context]time.Time{},
		events: history{counted: map[int]time.Time{}, stripped: map[int]bool{}, vacated: map[int]bool{}, ghosts: map[string]bool{},
			failed: map[int]int{}},
		lab: openLab(t, tiers[random.IntN(2)], linodesim.Config{
			Profile: profiles[random.IntN(3)], Seed: seed, ValidateAnswers: seed%10 == 0,
			Tokens: map[string][]string{linodesim.DefaultToken: {"*"}, personToken: {"*"}},
			Behaviour: linodesim.Behaviour{
				IgnorePoolFilter: coin(2), LenientPages: coin(2),
				LostLinode: []linodesim.LostLinode{linodesim.RecreateLinode, linodesim.LeaveHole}[random.IntN(2)],
			},
		}),
	}
	for i := range 1 + random.IntN(3) {
		k := lkepool.Key{NodePool: fmt.Sprintf("pool-%d", i), InstanceType: []string{"g6-standard-2", "g6-dedicated-4"}[random.IntN(2)]}
		if coin(2) {
			k.Template.Labels = map[string]string{"example.com/team": "a"}
			k.Template.Taints = []lkepool.Taint{{Key: "example.com/only", Value: "a", Effect: "NoSchedule"}}
		}
		s.keys = append(s.keys, k)
	}
	s.pageSize = map[bool]int{true: 25}[s.paged]
	s.watchWrites()
	return s
}

func (s *life) run() {
	s.note("%+v, %s", s.weather, s.tier)
	s.end = time.Now().Add(chaos)
	s.latest = s.end.Add(patienceAfter)
	s.lead(s.construct(s.random))
	var group sync.WaitGroup
	for i := range 1 + s.random.IntN(4) {
		seed := s.random.Uint64()
		group.Go(func() { s.crowd(i, 30, chaos/2, rand.New(rand.NewPCG(seed, 1))) })
	}
	for i := range 4 { // and some that come one by one
		seed := s.random.Uint64()
		group.Go(func() { s.crowd(10+i, 1, chaos, rand.New(rand.NewPCG(seed, 5))) })
	}
	for _, act := range []func(*rand.Rand){s.kills, s.faults, s.severe, s.trouble} {
		seed := s.random.Uint64()
		group.Go(func() { act(rand.New(rand.NewPCG(seed, 2))) })
	}
	ctx, stop := context.WithCancel(s.t.Context())
	var sweeps sync.WaitGroup
	sweeps.Go(func() { s.sweeps(ctx) })
	group.Wait()
	s.sim.HealAll()
	time.Sleep(time.Hour)
	stop()
	sweeps.Wait()
	s.verify()
	s.current().kill()
	if s.t.Failed() || testing.Verbose() {
		s.t.Logf("seed %d, life %s", s.seed, s.fingerprint())
	}
	if s.t.Failed() {
		for _, line := range s.log {
			s.t.Log(line)
		}
	}
}

// fingerprint distinguishes two lives of one seed apart: it is over everything that
// changed, and when.
func (s *life) fingerprint() string {
	sum := fnv.New64a()
	for _, e := range s.sim.Audit() {
		_, _ = fmt.Fprint(sum, e) // a hash takes everything
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

func (s *life) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(format, args...)
}

func (s *life) noteLocked(format string, args ...any) {
	s.log = append(s.log, moment(time.Now())+" "+fmt.Sprintf(format, args...))
}

func moment(at time.Time) string { return at.Format("15:04:05.000") }

func (s *life) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

func (s *life) lead(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

// construct starts a process, which may lead at once or stand by.
func (s *life) construct(random *rand.Rand) *process {
	wrong := time.Duration(0)
	if s.clocks {
		wrong = time.Duration(random.Int64N(int64(30*time.Minute))) - 15*time.Minute
	}
	clock := newBoundedClock(s.seed)
	clock.wrong = wrong
	cfg := lkepool.Config{Clock: clock}
	if s.witness {
		cfg.Records = claims.Holder(s.holder)
	}
	return s.start(cfg)
}

// holder answers from the claimants' own records.
func (s *life) holder(instanceID int) (claims.Claimant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.claims {
		if c.instance == instanceID {
			return c.who, true
		}
	}
	return claims.Claimant{}, false
}

// late reports, as an error, what should have happened long ago.
func (s *life) late(what string, last error) bool {
	if time.Now().Before(s.latest) {
		return false
	}
	s.errorf("I10: %s, %s after the last fault: %v", what, patienceAfter, last)
	return true
}

// bound is a context that ends with the process, and after d.
func bound(p *process, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, d)
}
