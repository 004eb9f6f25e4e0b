package lkepool_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

var (
	schedules     = flag.Int("schedules", usualSchedules, "how many random schedules to run")
	validated     = flag.Int("validate", 1, "in one of how many schedules every answer is compared with the API's description")
	progressEvery = flag.Duration("progress", 0, "how often to print how many schedules are done; 0 is never")
	firstSeed     = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
	mostCalls     = flag.Int("most-calls", 50_000, "how many requests one schedule may send, which is far above what any needs")
)

// TestSchedules runs random lives of a cluster: bursts of claimants that come
// back as Karpenter does, releases, orphan sweeps, restarts at any moment, hand
// edits, and every fault that the simulator knows. Afterwards everything has to
// be exact: I1 to I4 (lab_test.go, verify) and I5 (needs_test.go).
func TestSchedules(t *testing.T) {
	run := newProgress(t, *schedules, *progressEvery)
	for from := 0; from < *schedules; from += atOnce {
		to := min(from+atOnce, *schedules)
		t.Run(fmt.Sprintf("%d to %d", from+1, to), func(t *testing.T) {
			for i := from; i < to; i++ {
				runSchedule(t, *firstSeed+uint64(i), run)
			}
		})
	}
}

// atOnce bounds the schedules that wait for their turn: each is a goroutine.
const atOnce = 2000

func runSchedule(t *testing.T, seed uint64, run *progress) {
	t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
		t.Parallel()
		var why []string
		defer func() { // a bubble that fails ends this goroutine
			run.done(t.Failed(), seed, why)
			if t.Failed() {
				t.Log(replay(seed))
			}
		}()
		inBubble(t, func(t *testing.T) {
			s := newSchedule(t, seed)
			s.run()
			why = s.failures
		})
	})
}

// fingerprint tells two lives of one seed apart: it is over everything that
// changed, and when.
func (s *schedule) fingerprint() string {
	sum := fnv.New64a()
	for _, e := range s.sim.Audit() {
		_, _ = fmt.Fprint(sum, e) // a hash takes everything
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

// replay tells how to run a script again. Who goes first at one moment is not
// part of it, so a rare order may take several runs.
func replay(seed uint64) string {
	return fmt.Sprintf("replay: GOWORK=off go test -run TestSchedules . -schedules 1 -seed %d -count 20", seed)
}

// schedule is one random life.
type schedule struct {
	*lab
	seed   uint64
	random *rand.Rand
	keys   []lkepool.Key
	// calm: nothing is released, refused, recycled or edited, so that exactly
	// as many nodes have to be asked for as there are claimants.
	calm bool
	// end is when the faults end, latest when everybody must have what it wants.
	end, latest time.Time
	// clock fails a process that goes round in circles without time passing.
	clock *boundedClock

	mu      sync.Mutex
	process *process
	claims  map[string]*claimant
	deeds   []deed
	// refusals are the times when the platform refused; taken counts how often
	// nodes were taken out of pools by hand.
	refusals []refusal
	taken    int
	meddling sync.Mutex
	passes   []pass
	swept    []span
	// vacated are the instances that may be collected.
	vacated map[int]bool
	log     []string
}

type refusal struct {
	kind         lkepool.Kind
	instanceType string
	from, to     time.Time
}

// claimant is what a NodeClaim is: it exists, then it has an instance, then it
// is deleted, and it does not forget.
type claimant struct {
	name     string
	key      lkepool.Key
	instance int
	missing  int
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	random := rand.New(rand.NewPCG(seed, 7))
	profiles := []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()}
	s := &schedule{
		seed: seed, random: random, calm: random.IntN(3) == 0, claims: map[string]*claimant{}, vacated: map[int]bool{}, clock: newBoundedClock(seed),
		lab: openLab(t, tiers[random.IntN(2)], linodesim.Config{
			Profile: profiles[random.IntN(3)], Seed: seed, ValidateAnswers: seed%uint64(*validated) == 0,
			Behaviour: linodesim.Behaviour{
				IgnorePoolFilter: random.IntN(2) == 0, LenientPages: random.IntN(2) == 0,
				LostLinode: []world.LostLinode{world.RecreateLinode, world.LeaveHole}[random.IntN(2)],
			},
		}),
	}
	for i := range 1 + random.IntN(3) {
		k := lkepool.Key{NodePool: fmt.Sprintf("pool-%d", i), InstanceType: []string{"g6-standard-2", "g6-dedicated-4"}[random.IntN(2)]}
		if random.IntN(2) == 0 {
			k.Template.Labels = map[string]string{"example.com/team": "a"}
			k.Template.Taints = []lkepool.Taint{{Key: "example.com/only", Value: "a", Effect: "NoSchedule"}}
		}
		s.keys = append(s.keys, k)
	}
	return s
}

func (s *schedule) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

const (
	// settle is the engine's TagVerificationTimeout.
	settle = 4 * time.Second
	chaos  = 20 * time.Minute
	// patienceAfter is how long after the last fault a claim or a release may
	// take. Whatever takes longer will never end.
	patienceAfter = time.Hour
)

func (s *schedule) run() {
	s.end = time.Now().Add(chaos)
	s.latest = s.end.Add(patienceAfter)
	if !s.calm && s.random.IntN(2) == 0 {
		s.ambush(rand.New(rand.NewPCG(s.random.Uint64(), 4)))
	}
	s.restart()
	var group sync.WaitGroup
	for i := range 1 + s.random.IntN(4) {
		seed := s.random.Uint64()
		group.Go(func() { s.crowd(i, rand.New(rand.NewPCG(seed, 1))) })
	}
	for _, act := range []func(*rand.Rand){s.kills, s.faults, s.trouble} {
		seed := s.random.Uint64()
		group.Go(func() { act(rand.New(rand.NewPCG(seed, 2))) })
	}
	ctx, stop := context.WithCancel(s.t.Context())
	var sweeps sync.WaitGroup
	sweeps.Go(func() { s.sweeps(ctx) })
	group.Wait()
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

func (s *schedule) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

func (s *schedule) restart() {
	p := s.start(lkepool.Config{Clock: s.clock, Observer: lkepool.Observer{Pass: s.passed}})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

func (s *schedule) passed(p lkepool.Pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passes = append(s.passes, pass{Pass: p, ended: time.Now()})
}

// didLocked notes what a claimant did.
func (s *schedule) didLocked(c *claimant, what deedKind) {
	s.deeds = append(s.deeds, deed{at: time.Now(), claim: lkepool.ClaimValue(c.name), key: c.key.Hash(), what: what})
}

// late says, and reports, that something should have happened long ago.
func (s *schedule) late(what string, last error) bool {
	if time.Now().Before(s.latest) {
		return false
	}
	s.errorf("livelock: %s, %s after the last fault: %v", what, patienceAfter, last)
	return true
}

// bound is a context that ends with the process, and after d.
func bound(p *process, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, d)
}

// crowd is a burst of claimants.
func (s *schedule) crowd(number int, random *rand.Rand) {
	time.Sleep(time.Duration(random.Int64N(int64(chaos / 2))))
	k := s.keys[random.IntN(len(s.keys))]
	var group sync.WaitGroup
	for i := range 1 + random.IntN(30) {
		seed := random.Uint64()
		c := &claimant{name: fmt.Sprintf("%s-%d-%d", k.NodePool, number, i), key: k}
		s.mu.Lock()
		s.claims[c.name] = c
		s.didLocked(c, asks)
		s.mu.Unlock()
		group.Go(func() { s.life(c, rand.New(rand.NewPCG(seed, 3))) })
	}
	group.Wait()
}

func (s *schedule) life(c *claimant, random *rand.Rand) {
	time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
	if !s.obtain(c, random) || s.calm || random.IntN(3) > 0 {
		return
	}
	time.Sleep(time.Duration(random.Int64N(int64(chaos / 3))))
	s.mu.Lock()
	instance := c.instance
	s.didLocked(c, leaves)
	s.mu.Unlock()
	s.giveUp(instance, random)
	s.forget(c)
}

func (s *schedule) forget(c *claimant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.didLocked(c, leaves)
	delete(s.claims, c.name)
}

// obtain claims until there is a node, or until it makes no sense.
func (s *schedule) obtain(c *claimant, random *rand.Rand) bool {
	for {
		p, began, hollow := s.current(), time.Now(), s.hollow(c.key)
		ctx, cancel := bound(p, 5*time.Second+time.Duration(random.Int64N(int64(time.Minute))))
		node, err := p.Claim(ctx, lkepool.Request{
			Claimant: c.name, Key: c.key, Tags: []string{"team=a"},
			PoolTags: []string{"karpenter.sh/nodepool=" + c.key.NodePool},
		})
		cancel()
		if p.ctx.Err() != nil {
			// Whatever was answered, nobody was left to write it down.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		switch lkepool.KindOf(err) {
		case "":
			s.note("%s has %d of pool %d", c.name, node.InstanceID, node.PoolID)
			s.mu.Lock()
			c.instance = node.InstanceID
			s.didLocked(c, has)
			s.mu.Unlock()
			return true
		case lkepool.KindInsufficientCapacity, lkepool.KindQuotaExceeded:
			s.note("%s gave up: %v", c.name, err)
			waited := hollow && lkepool.KindOf(err) == lkepool.KindInsufficientCapacity
			if !waited && !s.refused(lkepool.KindOf(err), c.key.InstanceType, began) {
				s.errorf("I5: %s was told %v, and nothing was refused since %s", c.name, err, moment(began))
			}
			s.forget(c)
			return false
		case lkepool.KindProvisioning, lkepool.KindRateLimited, lkepool.KindUnavailable:
		default:
			s.errorf("%s: %v", c.name, err)
		}
		if s.late(c.name+" has no node", err) {
			return false
		}
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(20*time.Second))))
	}
}

// giveUp releases an instance until it is proven gone.
func (s *schedule) giveUp(instance int, random *rand.Rand) {
	for {
		p := s.current()
		ctx, cancel := bound(p, time.Minute)
		err := p.Release(ctx, instance)
		cancel()
		if p.ctx.Err() != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		switch lkepool.KindOf(err) {
		case lkepool.KindNotFound:
			s.note("%d is gone", instance)
			return
		case "", lkepool.KindProvisioning, lkepool.KindRateLimited, lkepool.KindUnavailable:
			s.note("release of %d: %v", instance, err)
		default:
			s.errorf("release of %d: %v", instance, err)
		}
		if s.late(fmt.Sprintf("instance %d is not proven gone", instance), err) {
			return
		}
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(10*time.Second))))
	}
}
