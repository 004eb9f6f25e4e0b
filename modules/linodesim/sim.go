package linodesim

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/fault"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/description"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/ratelimit"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// DefaultToken works when Config names no tokens.
const DefaultToken = "linodesim"

// The model's names, under which callers usually meet them.
type (
	// Clock is the time a simulator lives in; clocks of k8s.io/utils/clock fit.
	Clock = world.Clock

	// Profile is how long the platform takes for each step.
	Profile = world.Profile
	// Span is a range from which a delay is drawn.
	Span = world.Span
	// Trouble is how often a profile's requests go wrong.
	Trouble = world.Trouble
	// Behaviour is choices where the platform's real behaviour is not known.
	Behaviour = world.Behaviour
	// State is everything there is, at one moment.
	State = world.State
	// ClusterInfo is a cluster with its pools.
	ClusterInfo = world.Cluster
	// ClusterSpec is a cluster to be.
	ClusterSpec = world.ClusterSpec
	// PoolSpec is a pool to be.
	PoolSpec = world.PoolCreate
	// PoolEdit is changes of a pool.
	PoolEdit = api.LKENodePoolUpdate
	// Taint is of a pool.
	Taint = world.Taint
	// InstanceSpec is a Linode to be, outside of any cluster.
	InstanceSpec = world.InstanceSpec
	// FirewallSpec is a Cloud Firewall to be.
	FirewallSpec = world.FirewallSpec
	// NoCapacity refuses new nodes of a plan in a region.
	NoCapacity = world.NoCapacity
	// NoCapability is a capability that a region lacks.
	NoCapability = world.NoCapability
	// Event is what happened to a worker node.
	Event = world.Event
	// Entry is one change of state.
	Entry = world.Entry
	// Floor is the platform's own share of a scale-up.
	Floor = world.Floor

	// Rule is one way in which requests go wrong.
	Rule = fault.Rule
	// Answer is what a rule answers instead of the API.
	Answer = fault.Answer
	// View is what a rule shows instead of the world as it is.
	View = fault.View
	// RuleID names a rule in force.
	RuleID = fault.ID
	// Kind narrows a rule to lists, other reads or writes.
	Kind = fault.Kind

	// RateLimit is so many requests per window.
	RateLimit = ratelimit.Limit
	// Meter is the use of one rate limit.
	Meter = ratelimit.Meter
)

// Kinds of events.
const (
	NodeJoins   = world.NodeJoins
	NodeChanged = world.NodeChanged
	NodeGone    = world.NodeGone

	LinodeBoots = world.LinodeBoots
	LinodeStops = world.LinodeStops
	LinodeGone  = world.LinodeGone
)

// What deleting the last node of a pool does, and what LKE does about a Linode
// that was deleted directly; see Behaviour.
const (
	KeepEmptyPool    = world.KeepEmptyPool
	RemovePool       = world.RemovePool
	RefuseLastDelete = world.RefuseLastDelete
	RecreateLinode   = world.RecreateLinode
	LeaveHole        = world.LeaveHole
)

// Kinds of requests that a rule may be narrowed to.
const (
	Lists  = fault.Lists
	Reads  = fault.Reads
	Writes = fault.Writes
)

// Tiers of LKE.
const (
	Standard   = catalog.Standard
	Enterprise = catalog.Enterprise
)

// Fast is the profile for tests and demonstrations: an instance ID after
// 0.2 s, joining 1 s later, 5 ms per request.
func Fast() Profile { return world.Fast() }

// Realistic is an ordinary day: IDs after 2 to 10 s, Enterprise node lists
// after 30 to 60 s, joining after 90 to 200 s, 150 to 400 ms per request.
func Realistic() Profile { return world.Realistic() }

// Slow is a bad day: IDs after 30 to 60 s, joining after 300 s, up to 2 s per
// request.
func Slow() Profile { return world.Slow() }

// Stale is Realistic with reads of one object up to 4 s and lists up to 2
// minutes behind.
func Stale() Profile { return world.Stale() }

// Hostile is Stale with spurious 404s, lists that lack an entry, shifted pages,
// writes without effect, lost answers and requests that hang.
func Hostile() Profile { return world.Hostile() }

// Instant is for tests that are not about time: every step happens together
// with what caused it.
func Instant() Profile { return Profile{Name: "instant"} }

// ProfileNamed finds fast, realistic, slow, stale or hostile.
func ProfileNamed(name string) (Profile, bool) { return world.ProfileNamed(name) }

// ProfileNames lists what ProfileNamed finds.
func ProfileNames() []string { return world.ProfileNames() }

// Config of a simulator. The zero value is usable.
type Config struct {
	Clock     Clock   // nil = real time, which is virtual inside a testing/synctest bubble
	Profile   Profile // zero = Fast()
	TimeScale float64 // divides every delay of the profile, not the rate limits' windows; 0 = 1
	Seed      uint64  // of everything that is drawn
	Behaviour Behaviour

	// Tokens gives each token's scopes, such as lke:read_write; "*" is all of
	// them. nil = DefaultToken with all.
	Tokens map[string][]string

	// NoRateLimits turns the documented limits off; RateLimits replaces those
	// of single classes (collections, general, create-instance, images).
	NoRateLimits bool
	RateLimits   map[string]RateLimit

	// ValidateAnswers compares every answer with the API's description. One
	// that differs becomes a 500 that names the difference, and is kept in Violations.
	ValidateAnswers bool

	// AccountBackups is the account's setting that enrols new Linodes in the
	// backup service.
	AccountBackups bool
}

// Sim is a simulated Linode API: an http.Handler, and the hands of a test or
// of an operator in the world behind it. All methods are safe for concurrent
// use.
type Sim struct {
	world   *world.World
	clock   Clock
	routes  *http.ServeMux
	tokens  tokens
	limiter *ratelimit.Limiter
	faults  *fault.Set
	floors  map[fault.ID]floor // guarded by the world's lock
	journal journal
	check   bool
	boot    Span // expected from a node being asked for to its joining

	maintenance atomic.Bool
}

// New makes a simulator without clusters.
func New(cfg Config) (*Sim, error) {
	if cfg.TimeScale < 0 {
		return nil, fmt.Errorf("linodesim: TimeScale is %g; it divides delays and must be positive (0 means 1)", cfg.TimeScale)
	}
	if cfg.Clock == nil {
		cfg.Clock = world.RealClock{}
	}
	tokens, err := newTokens(cfg.Tokens)
	if err != nil {
		return nil, err
	}
	operations, err := operation.Load()
	if err != nil {
		return nil, fmt.Errorf("linodesim: %w", err)
	}
	w := world.New(world.Config{
		Clock: cfg.Clock, Profile: cfg.Profile, TimeScale: cfg.TimeScale, Behaviour: cfg.Behaviour, Seed: cfg.Seed,
		AccountBackups: cfg.AccountBackups,
	})
	limits := map[string]RateLimit{}
	for _, op := range operations {
		documented, _ := api.DocumentedRateLimit(op.Class)
		limits[string(op.Class)] = RateLimit{Requests: documented.Requests, Window: documented.Per}
	}
	for class, l := range cfg.RateLimits {
		if _, ok := limits[class]; !ok {
			return nil, fmt.Errorf("linodesim: RateLimits names class %q; there are collections, general, create-instance and images", class)
		}
		if l.Requests <= 0 || l.Window <= 0 {
			return nil, fmt.Errorf("linodesim: RateLimits of %s allows %d requests per %v; both must be positive", class, l.Requests, l.Window)
		}
		limits[class] = l
	}
	if cfg.NoRateLimits {
		limits = nil
	}
	s := &Sim{
		world: w, clock: cfg.Clock, routes: routes(operations), tokens: tokens, limiter: ratelimit.New(limits),
		faults: fault.NewSet(cfg.Seed, profileRules(cfg.Profile.Scaled(cfg.TimeScale))...), floors: map[fault.ID]floor{},
		check: cfg.ValidateAnswers, boot: w.Profile().Boot(),
	}
	s.do(func(w *world.Moment) { w.Remember(s.faults.Stale()) })
	return s, nil
}

// Description returns the OpenAPI description that the simulator serves, as JSON.
func Description() ([]byte, error) { return description.GetSpecJSON() }

// owner is who makes and edits things through Go instead of the API.
var owner = world.Actor{User: "owner"}

// at does something at one moment of the world.
func at[T any](s *Sim, by world.Actor, do func(*world.Moment) T) T {
	w, end := s.world.Begin(world.Caller{Actor: by})
	defer end()
	return do(w)
}

// AddCluster makes a cluster with its pools, as if its owner had made it in
// the Cloud Manager before anything else happened: reads of a profile that lag
// show it at once.
func (s *Sim) AddCluster(spec ClusterSpec) (ClusterInfo, error) {
	w, end := s.world.Begin(world.Caller{Actor: owner})
	defer end()
	defer w.Prepared()
	return w.AddCluster(spec)
}

// AddFirewall makes a Cloud Firewall and gives its ID.
func (s *Sim) AddFirewall(spec FirewallSpec) int {
	return at(s, owner, func(w *world.Moment) int {
		defer w.Prepared()
		return w.AddFirewall(spec)
	})
}

// AddInstance makes a Linode that belongs to no cluster, and gives its ID.
func (s *Sim) AddInstance(spec InstanceSpec) (int, error) {
	w, end := s.world.Begin(world.Caller{Actor: owner})
	defer end()
	defer w.Prepared()
	return w.AddInstance(spec)
}

// Snapshot copies the whole state.
func (s *Sim) Snapshot() State { return at(s, owner, (*world.Moment).Snapshot) }

// Subscribe gives what happens to worker nodes until the context ends: first a
// NodeJoins for each that has joined already, then everything in order. A
// reader that is slow delays only itself.
func (s *Sim) Subscribe(ctx context.Context) <-chan Event { return s.world.Subscribe(ctx) }

// Audit lists every change of state so far, oldest first.
func (s *Sim) Audit() []Entry { return at(s, owner, (*world.Moment).Audit) }

// Floor measures how long the platform takes to show the nodes that were asked
// for at or after the given time: the least any client can need.
func (s *Sim) Floor(since time.Time) Floor {
	return at(s, owner, func(w *world.Moment) Floor { return w.Floor(since) })
}

// Behaviour gives the choices made where the platform's behaviour is not known.
func (s *Sim) Behaviour() Behaviour { return s.world.Behaviour() }

// Catalog is what can be bought.
func (s *Sim) Catalog() *catalog.Catalog { return s.world.Catalog() }

// Now is the time by the simulator's clock.
func (s *Sim) Now() time.Time { return s.clock.Now() }

// Meters shows the rate limits in use, by caller and class.
func (s *Sim) Meters() []Meter { return s.limiter.Meters(s.clock.Now()) }
