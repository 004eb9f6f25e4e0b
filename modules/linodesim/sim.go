package linodesim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/ratelimit"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// DefaultToken works when Config names no tokens.
const DefaultToken = "linodesim"

// Clock gives a simulator its time; clocks of k8s.io/utils/clock fit.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// realClock is package time's clock; inside a testing/synctest bubble its time is the
// bubble's virtual time.
type realClock struct{}

func (realClock) Now() time.Time                         { return time.Now() }
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// RateLimit allows Requests requests in each Window.
type RateLimit struct {
	Requests int
	Window   time.Duration
}

// Meter is the use of one rate limit by one caller.
type Meter struct {
	Caller, Class string
	Limit         RateLimit
	Used          int
	Reset         time.Time
	Refused       int // since the start
}

// Tiers of LKE.
const (
	Standard   = catalog.Standard
	Enterprise = catalog.Enterprise
)

// Config of a simulator. The zero value is usable.
type Config struct {
	Clock     Clock   // nil = real time, which is virtual inside a testing/synctest bubble
	Profile   Profile // zero = Fast()
	TimeScale float64 // divides every time of the profile; not rate limits' windows, the times of Lie and of rules of Fail; 0 = 1
	Seed      uint64  // of all random values
	Behaviour Behaviour

	// Tokens gives each token's scopes, such as lke:read_write; "*" is every scope. nil
	// = DefaultToken with every scope.
	Tokens map[string][]string
	// Roles makes the users of some tokens restricted users with roles, such as
	// lkecluster_admin. The users of all other tokens may do everything. Roles limit
	// only requests below /lke/clusters: what they allow elsewhere is not known.
	Roles map[string][]string

	// NoRateLimits turns the documented limits off; RateLimits replaces the
	// limits of single classes, which api.Operation names (collections, general, ...).
	NoRateLimits bool
	RateLimits   map[string]RateLimit

	// ValidateAnswers compares every answer with the API's description. An answer that
	// differs becomes a 500 that names the difference, and is kept in Violations.
	ValidateAnswers bool

	// AccountBackups is the account's setting that enrols new Linodes in the
	// backup service.
	AccountBackups bool
}

// Sim is a simulated Linode API: an http.Handler, with access for tests and for
// people to the account behind it. All methods are safe for concurrent use.
type Sim struct {
	*Faults
	*Owner

	world   *world.World
	clock   Clock
	routes  router
	tokens  tokens
	limiter *ratelimit.Limiter
	journal journal
	check   bool
	boot    Span // expected from a node's request to its joining

	behaviour Behaviour
}

// New makes a simulator without clusters. A negative TimeScale, an empty token, and roles or rate limits with unknown names
// are errors.
func New(cfg Config) (*Sim, error) {
	if cfg.TimeScale < 0 {
		return nil, fmt.Errorf("linodesim: TimeScale is %g; it divides delays and must be positive (0 means 1)", cfg.TimeScale)
	}
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	tokens, err := newTokens(cfg.Tokens, cfg.Roles)
	if err != nil {
		return nil, err
	}
	operations, err := operation.Load()
	if err != nil {
		return nil, fmt.Errorf("linodesim: %w", err)
	}
	profile := cfg.Profile
	if profile == (Profile{}) {
		profile = Fast()
	}
	profile = profile.Scaled(cfg.TimeScale)
	w := world.New(world.Config{
		Clock: cfg.Clock, Delays: profile.delays(), Behaviour: cfg.Behaviour, Seed: cfg.Seed, AccountBackups: cfg.AccountBackups,
	})
	limits := map[string]ratelimit.Limit{}
	for _, op := range operations {
		documented, _ := api.DocumentedRateLimit(op.Class)
		limits[string(op.Class)] = ratelimit.Limit{Requests: documented.Requests, Window: documented.Per}
	}
	for class, l := range cfg.RateLimits {
		if _, ok := limits[class]; !ok {
			return nil, fmt.Errorf("linodesim: RateLimits names class %q; known names: %s", class,
				strings.Join(slices.Sorted(maps.Keys(limits)), ", "))
		}
		if l.Requests <= 0 || l.Window <= 0 {
			return nil, fmt.Errorf("linodesim: RateLimits of %s allows %d requests per %v; both must be positive", class, l.Requests, l.Window)
		}
		limits[class] = ratelimit.Limit(l)
	}
	if cfg.NoRateLimits {
		limits = nil
	}
	s := &Sim{
		world: w, clock: cfg.Clock, routes: newRouter(operations), tokens: tokens, limiter: ratelimit.New(limits),
		Faults: &Faults{world: w, clock: cfg.Clock, rules: newRuleSet(cfg.Seed, profileRules(profile)...), floors: map[RuleID]floor{}},
		Owner:  &Owner{world: w},
		check:  cfg.ValidateAnswers, boot: profile.Boot(), behaviour: cfg.Behaviour,
	}
	do(w, func(w *world.Moment) {
		w.History().Remember(s.rules.Stale())
		w.Faults().KeepSilent(world.Silence{Rate: profile.Faults.Silence, For: profile.Faults.SilenceFor})
	})
	return s, nil
}

// owner is the actor of changes that a program makes through Go and not through the
// API.
var owner = Actor{User: "owner"}

// at calls do at one moment of the world.
func at[T any](w *world.World, by Actor, do func(*world.Moment) T) T {
	now, end := w.Begin(world.Caller{Actor: by})
	defer end()
	return do(now)
}

// do is at for a change without a result, by owner.
func do(w *world.World, change func(*world.Moment)) {
	now, end := w.Begin(world.Caller{Actor: owner})
	defer end()
	change(now)
}

// Snapshot copies the whole state.
func (s *Sim) Snapshot() State { return at(s.world, owner, (*world.Moment).Snapshot) }

// Audit lists every change of state so far, oldest first.
func (s *Sim) Audit() []Entry { return at(s.world, owner, (*world.Moment).Audit) }

// Subscribe delivers the events of worker nodes until the context ends: first a
// NodeJoins for each that has joined already, then everything in order. A slow
// reader delays only itself.
func (s *Sim) Subscribe(ctx context.Context) <-chan Event { return world.Subscribe(ctx, s.world) }

// SubscribeLinodes does as Subscribe for Linodes that are no workers. It starts
// with a LinodeBoots for each that runs.
func (s *Sim) SubscribeLinodes(ctx context.Context) <-chan Event {
	return world.SubscribeLinodes(ctx, s.world)
}

// Floor measures how long the platform takes to show the nodes that were requested
// at or after the given time: the least any client can need.
func (s *Sim) Floor(since time.Time) Floor {
	return at(s.world, owner, func(w *world.Moment) Floor { return w.Floor(since) })
}

// Behaviour returns the choices made where the platform's behaviour is not known.
func (s *Sim) Behaviour() Behaviour { return s.behaviour }

// Catalog returns the plans, regions, images and versions on offer.
func (s *Sim) Catalog() *catalog.Catalog { return s.world.Catalog() }

// Now is the time by the simulator's clock.
func (s *Sim) Now() time.Time { return s.clock.Now() }

// Meters shows the rate limits in use, by caller and class.
func (s *Sim) Meters() []Meter {
	return each(s.limiter.Meters(s.clock.Now()), func(m ratelimit.Meter) Meter {
		return Meter{Caller: m.Caller, Class: m.Class, Limit: RateLimit(m.Limit), Used: m.Used, Reset: m.Reset, Refused: m.Refused}
	})
}
