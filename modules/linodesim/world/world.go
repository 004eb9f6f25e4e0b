package world

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// Clock is the time the world lives in. Clocks of k8s.io/utils/clock fit.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// RealClock is package time's clock; inside a testing/synctest bubble that is
// the bubble's virtual one.
type RealClock struct{}

// Now is time.Now.
func (RealClock) Now() time.Time { return time.Now() }

// After is time.After.
func (RealClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Config of a world. The zero value is usable: real clock, profile fast.
type Config struct {
	Clock     Clock
	Profile   Profile // zero = Fast()
	TimeScale float64 // divides every delay of the profile; 0 = 1
	Behaviour Behaviour
	Seed      uint64
	Catalog   *catalog.Catalog // nil = catalog.New()

	// AccountBackups is the account's setting that enrols new Linodes in the
	// backup service.
	AccountBackups bool
}

// World is the state of an account and the rules by which it changes. Its
// methods take a lock each; Begin takes it once for several.
type World struct {
	*state
	held bool // the lock is taken, for as long as this view is used
}

type state struct {
	clock     Clock
	profile   Profile
	behaviour Behaviour
	catalog   *catalog.Catalog

	accountBackups bool

	since time.Time

	mu         sync.Mutex
	now        time.Time
	agenda     agenda
	rng        *rand.Rand
	latency    *rand.Rand
	side       *rand.Rand // for what is no part of LKE, so that it changes nothing there
	seq        sequence
	clusters   map[int]*cluster
	pools      map[int]*pool
	instances  map[int]*Instance
	firewalls  map[int]*Firewall
	assets     assets
	conditions conditions
	audit      []Entry
	visible    []Visibility
	feed       feed
	history    history
	frozen     bool
}

type cluster struct {
	Cluster
	pools []*pool
}

type pool struct {
	Pool
	cluster *cluster
	nodes   []*node
	gone    bool
}

type node struct {
	Node
	pool *pool
	gone bool
}

// New makes a world without clusters.
func New(cfg Config) *World {
	if cfg.Clock == nil {
		cfg.Clock = RealClock{}
	}
	if cfg.Profile == (Profile{}) {
		cfg.Profile = Fast()
	}
	if cfg.Catalog == nil {
		cfg.Catalog = catalog.New()
	}
	return &World{state: &state{
		clock:     cfg.Clock,
		profile:   cfg.Profile.Scaled(cfg.TimeScale),
		behaviour: cfg.Behaviour,
		catalog:   cfg.Catalog,

		accountBackups: cfg.AccountBackups,

		now:       cfg.Clock.Now(),
		since:     cfg.Clock.Now(),
		rng:       rand.New(rand.NewPCG(cfg.Seed, 1)),
		latency:   rand.New(rand.NewPCG(cfg.Seed, 2)),
		side:      rand.New(rand.NewPCG(cfg.Seed, 4)),
		seq:       firstIDs,
		clusters:  map[int]*cluster{},
		pools:     map[int]*pool{},
		instances: map[int]*Instance{},
		firewalls: map[int]*Firewall{},
		assets:    newAssets(),
		feed:      newFeed(),
	}}
}

// Begin gives a view of the world that sees and changes one moment, until end
// is called: no other caller gets in between.
func (w *World) Begin() (view *World, end func()) {
	end = w.lock()
	return &World{state: w.state, held: true}, end
}

// lock takes the world and brings it up to the present; the result unlocks.
func (w *World) lock() func() {
	if w.held {
		return func() {}
	}
	w.mu.Lock()
	w.advance(w.clock.Now())
	return w.mu.Unlock
}

// advance lets everything happen that was planned for now or before. A frozen
// world stays as it is.
func (w *World) advance(now time.Time) {
	if w.frozen {
		return
	}
	for {
		p, ok := w.agenda.due(now)
		if !ok {
			break
		}
		w.moveTo(p.at)
		p.run()
		w.history.changed = true
	}
	w.moveTo(now)
}

// moveTo is the only way in which time passes.
func (w *World) moveTo(t time.Time) {
	if t.After(w.now) {
		w.keep()
		w.now = t
	}
}

// in plans something for later.
func (w *World) in(d time.Duration, run func()) {
	w.agenda.add(w.now.Add(d), run)
	w.feed.wake()
}

// Catalog is what can be bought in this world.
func (w *World) Catalog() *catalog.Catalog { return w.catalog }

// Behaviour gives the chosen answers to what is not known.
func (w *World) Behaviour() Behaviour { return w.behaviour }

// AccountBackups is the account's setting for new Linodes.
func (w *World) AccountBackups() bool { return w.accountBackups }

// Profile is the one in force, scaled.
func (w *World) Profile() Profile { return w.profile }

// Clock is the world's clock.
func (w *World) Clock() Clock { return w.clock }

// RequestDelay draws how long answering one request takes.
func (w *World) RequestDelay() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.profile.Request.draw(w.latency)
}

// sequence hands out IDs. Real IDs grow with gaps; so do these.
type sequence struct {
	cluster, pool, instance, firewall, address     int
	disk, config, iface, image, group, vpc, subnet int
}

var firstIDs = sequence{
	cluster: 584600, pool: 855400, instance: 94907000, firewall: 9618600,
	disk: 183299500, config: 85836800, iface: 4500, image: 38637300, group: 448200, vpc: 505300, subnet: 5100,
}

func (w *World) nextID(counter *int) int {
	*counter += 1 + w.rng.IntN(3)
	return *counter
}

// sideID is nextID for what is no part of LKE.
func (w *World) sideID(counter *int) int {
	*counter += 1 + w.side.IntN(3)
	return *counter
}

// Recorded node IDs are eight random hex digits and four zeros after the pool.
func (w *World) newNodeID(poolID int) string {
	return fmt.Sprintf("%d-%08x0000", poolID, w.rng.Uint32())
}

func nodeName(clusterID int, nodeID string) string { return fmt.Sprintf("lke%d-%s", clusterID, nodeID) }

func (w *World) hostUUID() string {
	return fmt.Sprintf("%016x%016x%08x", w.rng.Uint64(), w.rng.Uint64(), w.rng.Uint32())
}

// addresses come from the ranges for documentation and for private use; the
// public ones repeat after 254, as nothing here routes.
func (w *World) addresses() (public, private, v6 string) {
	w.seq.address++
	n := w.seq.address
	return fmt.Sprintf("198.51.100.%d", n%254+1),
		fmt.Sprintf("192.168.%d.%d", 128+n/250%126, n%250+1),
		fmt.Sprintf("2001:db8::%x/128", n)
}
