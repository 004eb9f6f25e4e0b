package lkepool_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

var (
	schedules = flag.Int("schedules", 2000, "how many random schedules to run")
	firstSeed = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
)

// TestSchedules runs random lives of a cluster: bursts of claimants that come
// back as Karpenter does, releases, orphan sweeps, restarts at any moment, and
// every fault that the simulator knows. Afterwards everything has to be exact.
func TestSchedules(t *testing.T) {
	for i := range *schedules {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) { newSchedule(t, seed).run() })
			if t.Failed() {
				t.Log(replay(seed))
			}
		})
	}
}

func replay(seed uint64) string {
	return fmt.Sprintf("replay: GOWORK=off go test -run TestSchedules . -schedules 1 -seed %d", seed)
}

// schedule is one random life.
type schedule struct {
	*lab
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
	vacated map[int]bool
	log     []string
}

// claimant is what a NodeClaim is: it exists, then it has an instance, then it
// is deleted, and it does not forget.
type claimant struct {
	name     string
	key      lkepool.Key
	instance int
	deleted  bool
	missing  int
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	random := rand.New(rand.NewPCG(seed, 7))
	profiles := []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()}
	s := &schedule{
		random: random, calm: random.IntN(3) == 0, claims: map[string]*claimant{}, vacated: map[int]bool{}, clock: newBoundedClock(seed),
		lab: newLab(t, tiers[random.IntN(2)], linodesim.Config{
			Profile: profiles[random.IntN(3)], Seed: seed,
			Behaviour: linodesim.Behaviour{IgnorePoolFilter: random.IntN(2) == 0, LenientPages: random.IntN(2) == 0},
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
	chaos = 20 * time.Minute
	// patienceAfter is how long after the last fault a claim or a release may
	// take. Whatever takes longer will never end.
	patienceAfter = time.Hour
	// mostCalls bounds what one schedule may send, far above what any needs.
	mostCalls = 50_000
)

func (s *schedule) run() {
	s.end = time.Now().Add(chaos)
	s.latest = s.end.Add(patienceAfter)
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
	p := s.start(lkepool.Config{Clock: s.clock})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

// late says, and reports, that something should have happened long ago.
func (s *schedule) late(what string, last error) bool {
	if time.Now().Before(s.latest) {
		return false
	}
	s.t.Errorf("livelock: %s, %s after the last fault: %v", what, patienceAfter, last)
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
	s.mu.Unlock()
	s.giveUp(instance, random)
	s.forget(c)
}

func (s *schedule) forget(c *claimant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.deleted = true
	delete(s.claims, c.name)
}

// obtain claims until there is a node, or until it makes no sense.
func (s *schedule) obtain(c *claimant, random *rand.Rand) bool {
	for {
		p := s.current()
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
			s.mu.Unlock()
			return true
		case lkepool.KindInsufficientCapacity, lkepool.KindQuotaExceeded:
			s.note("%s gave up: %v", c.name, err)
			s.forget(c)
			return false
		case lkepool.KindProvisioning, lkepool.KindRateLimited, lkepool.KindUnavailable:
		default:
			s.t.Errorf("%s: %v", c.name, err)
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
			s.t.Errorf("release of %d: %v", instance, err)
		}
		if s.late(fmt.Sprintf("instance %d is not proven gone", instance), err) {
			return
		}
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(10*time.Second))))
	}
}

// kills ends the process now and then, and starts another.
func (s *schedule) kills(random *rand.Rand) {
	for range random.IntN(4) {
		time.Sleep(time.Duration(random.Int64N(int64(chaos / 3))))
		p := s.current()
		p.kill()
		s.note("killed")
		time.Sleep(time.Duration(random.Int64N(int64(5 * time.Second))))
		s.restart()
		s.note("started again")
	}
}

const (
	poolsRoute     = "/lke/clusters/{clusterId}/pools"
	poolRoute      = "/lke/clusters/{clusterId}/pools/{poolId}"
	nodeRoute      = "/lke/clusters/{clusterId}/nodes/{nodeId}"
	instancesRoute = "/linode/instances"
	instanceRoute  = "/linode/instances/{linodeId}"
)

// faults lets requests go wrong for a while, one way after another.
func (s *schedule) faults(random *rand.Rand) {
	routes := []string{"", poolsRoute, poolRoute, nodeRoute, instancesRoute, instanceRoute}
	lists := []string{poolsRoute, instancesRoute}
	for time.Now().Before(s.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Minute))))
		rule := linodesim.Rule{Route: routes[random.IntN(len(routes))], Probability: 0.1 + 0.9*random.Float64()}
		switch random.IntN(6) {
		case 0:
			rule.Status, rule.RetryAfter = 429, time.Duration(1+random.IntN(10))*time.Second
		case 1:
			rule.Status, rule.AfterEffect = 500+random.IntN(4), random.IntN(2) == 0
		case 2:
			rule.Drop, rule.AfterEffect = true, random.IntN(2) == 0
		case 3:
			rule.Delay = time.Duration(random.IntN(60)) * time.Second
		case 4:
			rule.Route, rule.Stale = lists[random.IntN(2)], time.Duration(1+random.IntN(3))*time.Second
			rule.Method = "GET"
		case 5:
			rule.Status, rule.HTML = 502, true
		}
		s.note("fault %+v", rule)
		id := s.sim.Fail(rule)
		time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
		s.sim.Heal(id)
	}
	s.sim.HealAll()
}

// trouble is what happens in a cluster besides.
func (s *schedule) trouble(random *rand.Rand) {
	for !s.calm && time.Now().Before(s.end) {
		time.Sleep(time.Duration(random.Int64N(int64(4 * time.Minute))))
		switch random.IntN(6) {
		case 0:
			s.sim.RefuseCapacity(linodesim.NoCapacity{Type: s.keys[random.IntN(len(s.keys))].InstanceType})
			s.note("no capacity")
			time.Sleep(time.Duration(random.Int64N(int64(2 * time.Minute))))
			s.sim.RestoreCapacity()
		case 1:
			if pools := s.ours(); len(pools) > 0 {
				pool := pools[random.IntN(len(pools))]
				if len(pool.Nodes) > 0 {
					node := pool.Nodes[random.IntN(len(pool.Nodes))]
					s.note("recycle %s %v", node.ID, s.sim.RecycleNode(s.cluster.ID, node.ID))
				}
			}
		case 2:
			if all := s.instances(); len(all) > 0 {
				id := all[random.IntN(len(all))].ID
				s.note("deleted by hand: %d %v", id, s.sim.DeleteInstance(id))
			}
		case 3:
			if pools := s.ours(); len(pools) > 0 {
				pool := pools[random.IntN(len(pools))]
				count := pool.Count + 1 + random.IntN(3)
				s.note("pool %d scaled by hand to %d: %v", pool.ID, count, s.sim.EditPool(s.cluster.ID, pool.ID, linodesim.PoolEdit{Count: &count}))
			}
		case 4:
			s.retag(random)
		case 5:
			s.sim.SetAccountLimit(10)
			time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
			s.sim.SetAccountLimit(0)
		}
	}
}

// retag changes user tags of some claimed instances.
func (s *schedule) retag(random *rand.Rand) {
	for _, instance := range s.instances() {
		if claimIn(instance.Tags) == "" || random.IntN(2) == 0 {
			continue
		}
		p := s.current()
		ctx, cancel := bound(p, time.Minute)
		err := p.SetTags(ctx, instance.ID, []string{"team=a"}, []string{"team=b"})
		cancel()
		switch lkepool.KindOf(err) {
		case lkepool.KindInvalid, lkepool.KindForbidden:
			s.t.Errorf("set tags: %v", err)
		}
	}
}

// sweeps collects orphans, and ends claimants whose instance is not listed any
// more, as Karpenter does.
func (s *schedule) sweeps(ctx context.Context) {
	for ctx.Err() == nil {
		p := s.current()
		bounded, cancel := bound(p, time.Minute)
		collected, err := p.Collect(bounded, lkepool.Sweep{Alive: func(context.Context) ([]string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var alive []string
			for name := range s.claims {
				alive = append(alive, name)
			}
			return alive, nil
		}, Vacate: s.vacate})
		for _, node := range collected.Released {
			s.note("collected %d of %q", node.InstanceID, node.Claim)
			s.mu.Lock()
			if !s.vacated[node.InstanceID] {
				s.t.Errorf("instance %d went without leave", node.InstanceID)
			}
			s.mu.Unlock()
		}
		if kind := lkepool.KindOf(err); kind == lkepool.KindInvalid || kind == lkepool.KindForbidden {
			s.t.Errorf("collect: %v", err)
		}
		nodes, err := p.List(bounded)
		cancel()
		if err == nil && p.ctx.Err() == nil {
			s.endMissing(nodes)
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.betweenSweeps()):
		}
	}
}

// vacate takes a while, and refuses some nodes at first.
func (s *schedule) vacate(ctx context.Context, node lkepool.Node) (bool, error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(time.Duration(node.InstanceID%20) * time.Second):
	}
	if time.Now().Before(s.end) && (node.InstanceID+time.Now().Minute())%3 == 0 {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vacated[node.InstanceID] = true
	return true, nil
}

// betweenSweeps is shorter while there is something to get wrong.
func (s *schedule) betweenSweeps() time.Duration {
	if time.Now().After(s.end.Add(chaos)) {
		return 10 * time.Minute
	}
	return 2 * time.Minute
}

func (s *schedule) endMissing(nodes []lkepool.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.claims {
		listed := slices.ContainsFunc(nodes, func(n lkepool.Node) bool { return n.InstanceID == c.instance })
		switch {
		case c.instance == 0 || listed:
			c.missing = 0
		case c.missing < 2:
			c.missing++
		default:
			if s.calm {
				s.t.Errorf("the instance %d of %s vanished", c.instance, name)
			}
			delete(s.claims, name)
			s.log = append(s.log, fmt.Sprintf("%s ends because %d is gone", name, c.instance))
		}
	}
}

// verify checks the invariants when all is at rest.
func (s *schedule) verify() {
	s.audit()
	if total, _, _ := s.calls(); total > mostCalls {
		s.t.Errorf("livelock: %d calls", total)
	}
	held := map[string][]world.Instance{}
	for _, instance := range s.instances() {
		held[claimIn(instance.Tags)] = append(held[claimIn(instance.Tags)], instance)
	}
	for _, instance := range held[""] {
		s.t.Errorf("I3: instance %d of pool %d is left without a claimant", instance.ID, instance.PoolID)
	}
	delete(held, "")
	for name, c := range s.claims {
		if mine := held[lkepool.ClaimValue(name)]; len(mine) != 1 || mine[0].ID != c.instance {
			s.t.Errorf("I3: %s believes to have %d, and has %d instances", name, c.instance, len(mine))
		}
		delete(held, lkepool.ClaimValue(name))
	}
	for claim, instances := range held {
		s.t.Errorf("I3: %d instances are left of claimant %s, who is gone", len(instances), claim)
	}
	if total := len(s.claims); s.count() != total {
		s.t.Errorf("I3: the pools have a count of %d for %d claimants", s.count(), total)
	}
	for _, pool := range s.ours() {
		if pool.Count == 0 {
			s.t.Errorf("I3: pool %d is left empty", pool.ID)
		}
	}
	if s.calm && s.requested() != len(s.claims) {
		s.t.Errorf("I5: %d nodes were asked for %d claimants", s.requested(), len(s.claims))
	}
}
