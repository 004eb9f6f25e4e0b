package world

import (
	"fmt"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// Clock gives the time of the world. Clocks of k8s.io/utils/clock fit.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Config of a world.
type Config struct {
	Clock     Clock
	Delays    Delays
	Behaviour account.Behaviour
	Seed      uint64

	// AccountBackups is the account's setting that enrols new Linodes in the
	// backup service.
	AccountBackups bool
}

// World is the state of an account and the rules by which it changes. Begin
// gives access to it.
type World struct{ *state }

// Moment is a world at one moment, with one caller. Its subjects, such as Pools, have
// the operations of the API. Moment has the methods that the subjects share.
type Moment struct {
	*state
	Caller
}

// Caller is the user who reads and changes the world.
type Caller struct {
	account.Actor
	Beta   bool     // below /v4beta
	Scopes []string // of the token, such as lke:read_write; "*" is all

	AnswersIn time.Duration // how long the request's answer takes from now on

	Restricted bool     // the user may do what its roles allow
	Roles      []string // of a restricted user
}

type state struct {
	setup

	mu     sync.Mutex
	now    time.Time
	agenda agenda
	draws  draws
	seq    sequence
	faults faults
	frozen bool

	objects
	assets  assets
	records records
	feed    feed
	history history
}

// setup holds the values that never change after New.
type setup struct {
	clock     Clock
	delays    Delays
	behaviour account.Behaviour
	catalog   *catalog.Catalog
}

// records hold every change, the times when nodes became visible, and the account's
// events.
type records struct {
	audit      []account.Entry
	visible    []Visibility
	activities activities
}

// New makes a world without clusters.
func New(cfg Config) *World {
	return &World{state: &state{
		setup: setup{
			clock:     cfg.Clock,
			delays:    cfg.Delays,
			behaviour: cfg.Behaviour,
			catalog:   catalog.New(),
		},
		now:     cfg.Clock.Now(),
		draws:   drawn(cfg.Seed, 1, 2, 4),
		seq:     firstIDs,
		objects: newObjects(),
		assets:  newAssets(cfg.AccountBackups),
		feed:    newFeed(),
	}}
}

// Begin brings the world up to the present and gives it to one caller. Other callers
// wait until end is called.
func (w *World) Begin(by Caller) (at *Moment, end func()) {
	w.mu.Lock()
	at = &Moment{state: w.state, Caller: by}
	at.advance(w.clock.Now())
	return at, w.mu.Unlock
}

// advance carries out the changes that are planned for now or earlier. A frozen world
// does not change.
func (w *Moment) advance(now time.Time) {
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
func (w *Moment) moveTo(t time.Time) {
	if t.After(w.now) {
		w.History().keep()
		w.now = t
	}
}

// Later plans a change after a delay, for the same caller.
func (w *Moment) Later(d time.Duration, do func(*Moment)) { w.in(d, func() { do(w) }) }

// in plans a change after a delay.
func (w *Moment) in(d time.Duration, run func()) {
	w.agenda.add(w.now.Add(d), run)
	w.feed.wake()
}

// Catalog returns the plans, regions, images and versions on offer.
func (w *World) Catalog() *catalog.Catalog { return w.catalog }

// RequestDelay draws how long answering one request takes; writes of LKE take their own time.
func (w *World) RequestDelay(writesLKE bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if writesLKE && w.delays.WriteLKE != (Span{}) {
		return w.delays.WriteLKE.draw(w.draws.latency)
	}
	return w.delays.Request.draw(w.draws.latency)
}

// stamp is the present as the API writes it.
func (w *Moment) stamp() api.Time { return api.Time{Time: w.now} }

// sequence hands out IDs. Real IDs grow with gaps; so do these.
type sequence struct {
	cluster, pool, instance, firewall, address int
	sideSequence
}

// sideSequence is for objects that are no part of LKE.
type sideSequence struct {
	disk, config, iface, image, group, vpc, subnet, device int
	balancer, port, backend, volume, network               int
}

var firstIDs = sequence{
	cluster: 584600, pool: 855400, instance: 94907000, firewall: 9618600,
	sideSequence: sideSequence{
		disk: 183299500, config: 85836800, iface: 4500, image: 38637300, group: 448200, vpc: 505300, subnet: 5100, device: 107500,
		balancer: 81200, port: 4500, backend: 54300, volume: 21400, network: 300,
	},
}

func (w *Moment) nextID(counter *int) int {
	*counter += 1 + w.draws.rng.IntN(3)
	return *counter
}

// sideID is nextID for objects that are no part of LKE.
func (w *Moment) sideID(counter *int) int {
	*counter += 1 + w.draws.side.IntN(3)
	return *counter
}

// newNodeID returns an ID of the recorded form: the pool's ID, eight random hex digits
// and four zeros.
func (w *Moment) newNodeID(poolID int) string {
	return fmt.Sprintf("%d-%08x0000", poolID, w.draws.rng.Uint32())
}

func (w *Moment) hostUUID() string {
	return fmt.Sprintf("%016x%016x%08x", w.draws.rng.Uint64(), w.draws.rng.Uint64(), w.draws.rng.Uint32())
}

// addresses come from the ranges for documentation and for private use. Public
// addresses repeat after 254, because the simulator routes nothing.
func (w *Moment) addresses() (public, private, v6 string) {
	w.seq.address++
	n := w.seq.address
	return fmt.Sprintf("198.51.100.%d", n%254+1),
		fmt.Sprintf("192.168.%d.%d", 128+n/250%126, n%250+1),
		fmt.Sprintf("2001:db8::%x/128", n)
}
