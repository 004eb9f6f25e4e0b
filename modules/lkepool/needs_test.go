package lkepool_test

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// I5 for lives with faults, hand edits and restarts.
//
// What a purchase may be. At any moment a key needs
//
//	N = claimants that exist and hold no instance
//	  - places in its pools that nobody has claimed, arrived or on their way,
//	    whoever asked for them
//
// and no request for more nodes may ask for more than N. So over a whole life
// the engine asks for one node for each claimant, plus one for each that the
// platform or a person took away before its claimant was told of it, plus one
// for each orphan that was released and wanted again later, less those that
// somebody else's replacements and raised counts supplied. A claimant whom the
// platform refuses, and who gives up for it, needs nothing from then on. In a
// life without trouble this is exactly the number of claimants.
//
// What nobody can know. Requests have no preconditions (Linode API facts), so a
// place that somebody else supplies after the engine has looked, or so shortly
// before that lists may lag behind it, comes too late to be counted: a purchase
// may exceed N by the number of such places. And a count is set, not added to:
// a place that a person takes out of the pool between the engine's last read of
// it and its write is asked for again. Nothing else is excused, not lost answers,
// nor that of a pool's creation. Surplus is collected (I3).
//
// What goes. The engine removes a node only when its claimant is gone or has
// given it back, and never by setting a count that it knows to be raised. A sweep removes one that nobody has claimed only when there are
// more of those than claimants who had come before the sweep began.

// needs replays a life: the simulator's audit log, with what the claimants did.
type needs struct {
	errorf func(format string, args ...any)
	// keyOf tells the key of each pool of the engine.
	keyOf  map[int]string
	passes []pass
	sweeps []span
	reads  map[int][]span
	settle time.Duration

	places    map[string]*spot
	instances map[int]*spot
	claimants map[string]*want
	// gifts are the moments at which somebody else supplied an unclaimed place,
	// by key. owed are unclaimed places, by pool, that LKE is just replacing.
	gifts map[string][]time.Time
	owed  map[int]int
	// taken are the moments at which a person took a place away, by pool.
	taken map[int][]time.Time
	// excused counts what was bought too many, for a reason.
	bought, excused int
}

// spot is a place in a pool of the engine.
type spot struct {
	node, key, claim string
	pool             int
	emptied          time.Time // its instance went; zero = it did not
	had              string    // the claim of that instance
	replaced         bool      // by LKE, with nobody's claim on it
}

// want is what a claimant wants.
type want struct {
	key string
	at  time.Time
	has bool
}

type span struct{ from, to time.Time }

func (s span) covers(at time.Time) bool { return !at.Before(s.from) && !at.After(s.to) }

// deed is what a claimant did.
type deed struct {
	at         time.Time
	claim, key string
	what       deedKind
}

type deedKind int

const (
	asks deedKind = iota
	has
	leaves
)

// pass is one pass of the engine.
type pass struct {
	lkepool.Pass
	ended time.Time
}

func (p pass) span() span { return span{from: p.ended.Add(-p.Duration), to: p.ended} }

// checkNeeds asserts I5 and reports how much was bought, and how much of it too
// many for a reason.
func checkNeeds(entries []world.Entry, deeds []deed, n needs) (bought, excused int) {
	n.places, n.instances, n.claimants = map[string]*spot{}, map[int]*spot{}, map[string]*want{}
	n.gifts, n.owed, n.taken = map[string][]time.Time{}, map[int]int{}, map[int][]time.Time{}
	// Where the order at one moment is not known, whoever asks came first and
	// whoever leaves went last.
	slices.SortStableFunc(deeds, func(a, b deed) int { return a.at.Compare(b.at) })
	last := map[string]int{}
	for i, e := range entries {
		if e.Action == world.NodeRequested {
			last[e.Actor.RequestID] = i
		}
	}
	for i, e := range entries {
		for len(deeds) > 0 && (deeds[0].at.Before(e.At) || deeds[0].at.Equal(e.At) && deeds[0].what == asks) {
			n.follow(deeds[0])
			deeds = deeds[1:]
		}
		if _, ours := n.keyOf[e.PoolID]; ours {
			n.apply(e, last[e.Actor.RequestID] == i)
		}
	}
	return n.bought, n.excused
}

func (n *needs) follow(d deed) {
	switch d.what {
	case asks:
		n.claimants[d.claim] = &want{key: d.key, at: d.at}
	case has:
		if c := n.claimants[d.claim]; c != nil {
			c.has = true
		}
	case leaves:
		delete(n.claimants, d.claim)
	}
}

// engine is the user whose token the engine has.
const engine = "user1"

func (n *needs) apply(e world.Entry, complete bool) {
	switch e.Action {
	case world.NodeRequested:
		n.places[e.NodeID] = &spot{node: e.NodeID, pool: e.PoolID, key: n.keyOf[e.PoolID]}
		switch {
		case e.Actor == world.LKE && n.owed[e.PoolID] > 0:
			n.owed[e.PoolID]--
		case e.Actor.User != engine:
			n.give(e)
		default:
			n.bought++
			if complete {
				n.purchase(e)
			}
		}
	case world.InstanceCreated:
		n.instances[e.InstanceID] = n.places[e.NodeID]
	case world.InstanceTagged:
		if place := n.instances[e.InstanceID]; place != nil {
			free := place.claim == ""
			place.claim = claimIn(strings.Split(e.After, ","))
			if free && place.claim != "" && place.replaced {
				n.give(e) // claimed while it was going: what LKE made for it is one more
			}
		}
	case world.InstanceGone:
		// The place remains unless it was removed before, and may be filled again.
		if place := n.instances[e.InstanceID]; place != nil && n.places[e.NodeID] == place {
			place.emptied = e.At
			if place.had = place.claim; place.had != "" {
				place.claim = ""
				n.give(e)
			}
		}
	case world.NodeRemoved:
		n.remove(e)
	}
}

func (n *needs) give(e world.Entry) {
	n.gifts[n.keyOf[e.PoolID]] = append(n.gifts[n.keyOf[e.PoolID]], e.At)
}

// balance returns how many claimants of a key that came before a time hold
// nothing, and how many places nobody has claimed.
func (n *needs) balance(key string, before time.Time) (unserved, unclaimed int) {
	held := map[string]bool{}
	for _, place := range n.places {
		held[place.claim] = true
		if place.key == key && place.claim == "" {
			unclaimed++
		}
	}
	for claim, c := range n.claimants {
		if c.key == key && !c.has && !held[claim] && !c.at.After(before) {
			unserved++
		}
	}
	return unserved, unclaimed
}

// purchase judges a request for more nodes, after its effect.
func (n *needs) purchase(e world.Entry) {
	key := n.keyOf[e.PoolID]
	unserved, unclaimed := n.balance(key, e.At)
	over := unclaimed - unserved
	if over <= 0 {
		return
	}
	seen := n.seen(key, e.At)
	late := 0
	for _, at := range n.gifts[key] {
		if at.After(seen.Add(-n.settle)) {
			late++
		}
	}
	read := n.lastRead(e)
	for _, at := range n.taken[e.PoolID] {
		if at.After(read) {
			late++
		}
	}
	n.excused += min(over, late)
	if over > late {
		n.errorf("I5: at %s, pool %d of key %s was enlarged so that %d places await %d claimants; others had changed %d since shortly before %s, which the purchase was decided on",
			moment(e.At), e.PoolID, key, unclaimed, unserved, late, moment(seen))
	}
}

func moment(at time.Time) string { return at.Format("15:04:05.000") }

// seen returns what time the purchase knew of.
func (n *needs) seen(key string, at time.Time) time.Time {
	for _, p := range n.passes {
		if p.KeyHash == key && !p.Seen.IsZero() && p.span().covers(at) {
			return p.Seen
		}
	}
	n.errorf("I5: no pass of key %s asked for what was bought at %s", key, moment(at))
	return at
}

// unseen says whether a place went because a count was set that somebody else had
// raised after the engine had read it: the writer who comes last wins.
func (n *needs) unseen(e world.Entry) bool {
	if !slices.ContainsFunc(n.passes, func(p pass) bool { return p.KeyHash == n.keyOf[e.PoolID] && p.span().covers(e.At) }) {
		return false
	}
	read := n.lastRead(e)
	return slices.ContainsFunc(n.gifts[n.keyOf[e.PoolID]], func(at time.Time) bool { return at.After(read) })
}

// lastRead returns when the last read of the pool began that was answered before.
func (n *needs) lastRead(e world.Entry) (began time.Time) {
	for _, r := range n.reads[e.PoolID] {
		if r.from.After(began) && !r.to.After(e.At) {
			began = r.from
		}
	}
	return began
}

// pendingTimeout is the default of Config.PendingTimeout.
const pendingTimeout = 15 * time.Minute

// absence is for how long a claimant stays away before it asks again.
const absence = 30 * time.Second

// remove judges the end of a place.
func (n *needs) remove(e world.Entry) {
	place := n.places[e.NodeID]
	if place == nil {
		return
	}
	switch {
	case e.Actor == world.LKE && place.claim == "":
		n.owed[e.PoolID]++
		place.replaced = true
	case e.Actor.User != engine:
	case n.claimants[place.claim] != nil && !n.unseen(e):
		n.errorf("I5: at %s, node %s was taken from %s", moment(e.At), e.NodeID, place.claim)
	case !place.emptied.IsZero() && e.At.Sub(place.emptied) > pendingTimeout:
		// Nobody filled it: it is given up, whoever waits.
	case place.had != "" && n.claimants[place.had] == nil:
		// Given back by whom it had: it is removed, although its Linode went before.
	case place.claim == "":
		for _, sweep := range n.sweeps {
			unserved, unclaimed := n.balance(place.key, sweep.from.Add(-absence))
			if sweep.covers(e.At) && unclaimed <= unserved {
				n.errorf("I5: at %s, node %s was collected, one of %d free ones for %d claimants", moment(e.At), e.NodeID, unclaimed, unserved)
			}
		}
	}
	if e.Actor.User != engine && e.Actor != world.LKE {
		n.taken[e.PoolID] = append(n.taken[e.PoolID], e.At)
	}
	delete(n.places, e.NodeID)
}
