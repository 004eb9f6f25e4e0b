package core

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// simPlatform is LKE as the engine depends on it, both tiers, in memory and in
// virtual time. It keeps its history, so that a reading can be answered out of
// date. Everything in it is ordered: one seed, one course of events.
type simPlatform struct {
	*schedule.Agenda
	random     *rand.Rand
	enterprise bool
	delays     simDelays
	// repairs: a deleted Linode is made again; otherwise its slot stays, with
	// the ID of the Linode that is gone.
	repairs bool
	// room is how many nodes fit, 0 for any number; full is the refusal then.
	room      int
	full      claims.Kind
	pools     []*simPool
	instances []*simInstance
	lastID    int
	// bought counts the nodes that writes of the engine added, taken the nodes
	// that people and the platform took away.
	bought, taken int
	// added counts the nodes that people added.
	added int
	// unremoved counts the nodes whose removal was accepted, and had no effect.
	unremoved int
	purchases []simPurchase
}

// simPurchase is nodes that a write of the engine added.
type simPurchase struct {
	at    time.Duration
	nodes int
}

// simDelays are how long the platform takes.
type simDelays struct {
	// idLeast and idMost bound the time from the purchase to the instance.
	idLeast, idMost time.Duration
	// listed is how long a new member is missing from the node list of an
	// Enterprise pool, tagged how long its Linode has no tags there.
	listed, tagged time.Duration
	boot, gone     time.Duration
}

type simPool struct {
	lkepool.Pool
	// slots are the members, including members that are not listed yet.
	slots   []*simSlot
	gone    bool
	foreign bool
	history schedule.History[lkepool.Pool]
	// raised is when a person raised the count, or a moment long before.
	raised time.Duration
	// disturbed is when a person added a node to it, or took one away that had no claim, or when a count was accepted without effect.
	disturbed time.Duration
	// vain is when a count was accepted without effect.
	vain time.Duration
	// shrunk is when a node was removed last.
	shrunk time.Duration
	// edited: it is not what the engine made any more.
	edited bool
	lied   bool
	// omittedFrom is the process, counted from 1, to which a list last did not
	// show it although it should have.
	omittedFrom int
	known       simKnown
	// doomed: its deletion was sent.
	doomed bool
}

type simSlot struct {
	nodeID   string
	instance *simInstance
	// listed is the time from which readings of its pool show the slot.
	listed  time.Duration
	removed bool
	// replaces: it came in the place of another one that a person took away. replaced: another one
	// came in its place.
	replaces, replaced bool
	// since is when it was added, shownBy the process, counted from 1, to which a reading of
	// its pool listed it, doomedBy the one that sent its removal.
	since             time.Duration
	shownBy, doomedBy int
}

type simInstance struct {
	lkepool.Instance
	pool    *simPool
	slot    *simSlot
	gone    bool
	history schedule.History[lkepool.Instance]
	// edited: a person changed its tags, or a write of them was lost. copied: it
	// carries another's claim by hand.
	edited, copied bool
	// lied: it was reported as missing once. pretended: a removal was accepted, and
	// had no effect.
	// late: a claim on it landed late, lateOf: one of an earlier process.
	lied, pretended, late, lateOf bool
	// marked is when a claim was written to it last, shown the process, counted
	// from 1, to which a reading showed that, for the first time at shownAt.
	// The claim was sent at decided. named and namedAt come from a reading of its
	// pool that had its ID.
	marked, shownAt, decided, namedAt time.Duration
	shown, named                      int
	// dated is the time in the claim that was written to it last, sent when the first
	// claim with that time was.
	dated time.Time
	sent  time.Duration
	// omitted is how many lists of the process that leads should have shown it
	// and did not.
	omitted, omittedFrom int
	// failed counts failed writes of its tags.
	failed int
	// unread is the reads that fail now, unreadBefore the ones that failed until a read was answered.
	unread, unreadBefore simUnread
	// troubled: a request for it alone failed.
	troubled bool
	// ended is when it stopped to serve. toldEnd is the process, counted from 1, that an
	// answer told so, missedBy the one that found nothing at missedAt, and sureEnd the one
	// that found nothing once more, or was shown that it leaves: no reading takes that back.
	ended, missedAt            time.Duration
	toldEnd, missedBy, sureEnd int
	// unfoundAt is when a read of it was first answered 404 to this process since a read showed it, although it lived: its place seems to be
	// empty since then.
	unfoundAt time.Duration
	// toldRemoving is the process, counted from 1, to which a reading showed that one before removes it.
	toldRemoving int
	// seenBy is the process, counted from 1, to which a reading showed it.
	seenBy int
}

// simUnread is direct reads that failed in a row: for which process, counted from
// 1, how many, and since when.
type simUnread struct {
	process, times int
	since, until   time.Duration
	// passed: something was bought while they failed for too long.
	passed bool
}

const (
	simCluster   = "lke7"
	simLongAgo   = -time.Hour
	simPoolTag   = "nodepool="
	simSoonGone  = "deleting"
	simFirstPool = 100
)

func (p *simPlatform) between(least, most time.Duration) time.Duration {
	return schedule.Between(p.random, least, most)
}

// record keeps the pool as it is shown now.
func (p *simPlatform) record(of *simPool) {
	shown := of.Pool
	shown.Slots = make([]lkepool.Slot, 0, len(of.slots))
	for _, slot := range of.slots {
		if slot.listed > p.Now {
			continue
		}
		s := lkepool.Slot{NodeID: slot.nodeID}
		if slot.instance != nil {
			s.InstanceID = slot.instance.ID
		}
		shown.Slots = append(shown.Slots, s)
	}
	of.history.Record(p.Now, shown, !of.gone)
}

// recordInstance keeps the instance as it is shown now.
func (p *simPlatform) recordInstance(i *simInstance) {
	i.PoolID = 0
	if p.enterprise {
		i.PoolID, _ = strconv.Atoi(claims.ValueOf(i.Tags, simPoolTag))
	}
	i.history.Record(p.Now, i.Instance, !i.gone)
}

// inList reports whether the list of the cluster's instances has it: that is
// filtered by tag on Enterprise and by label on Standard.
func (p *simPlatform) inList(i lkepool.Instance) bool {
	if p.enterprise {
		return slices.Contains(i.Tags, simCluster)
	}
	return strings.HasPrefix(i.Name, simCluster+"-")
}

func (p *simPlatform) newPool(pool lkepool.Pool, foreign bool) *simPool {
	p.lastID++
	of := &simPool{Pool: pool, foreign: foreign, raised: simLongAgo, shrunk: simLongAgo}
	of.ID = simFirstPool + p.lastID
	p.pools = append(p.pools, of)
	return of
}

func (p *simPlatform) pool(id int) *simPool {
	for _, of := range p.pools {
		if of.ID == id {
			return of
		}
	}
	return nil
}

func (p *simPlatform) instance(id int) *simInstance {
	for _, i := range p.instances {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// buy notes nodes that a write of the engine adds.
func (p *simPlatform) buy(nodes int) {
	p.bought += nodes
	p.purchases = append(p.purchases, simPurchase{at: p.Now, nodes: nodes})
}

// grow adds slots; each gets its instance later.
func (p *simPlatform) grow(of *simPool, by int) {
	for range by {
		p.lastID++
		slot := &simSlot{nodeID: strconv.Itoa(of.ID) + "-" + strconv.Itoa(p.lastID), since: p.Now}
		of.slots = append(of.slots, slot)
		wait := p.between(p.delays.idLeast, p.delays.idMost)
		p.After(wait, func() { p.start(of, slot) })
		if p.enterprise {
			listed := max(wait, p.between(p.delays.listed/2, p.delays.listed))
			slot.listed = p.Now + listed
			p.After(listed, func() { p.record(of) })
		}
	}
	of.Count = len(of.slots)
	p.record(of)
}

// start makes the instance of a slot.
func (p *simPlatform) start(of *simPool, slot *simSlot) {
	if slot.removed {
		return
	}
	p.lastID++
	i := &simInstance{pool: of, slot: slot, Instance: lkepool.Instance{
		ID: 1000 + p.lastID, Name: simCluster + "-" + slot.nodeID, InstanceType: of.InstanceType,
		Region: "here", Status: "offline", State: lkepool.Down,
	}}
	slot.instance = i
	p.instances = append(p.instances, i)
	if p.enterprise {
		p.After(p.between(0, p.delays.tagged), func() {
			i.Tags = claims.Union(i.Tags, of.Tags, []string{simCluster, simPoolTag + strconv.Itoa(of.ID)})
			p.recordInstance(i)
		})
	}
	p.After(p.between(p.delays.boot/2, p.delays.boot), func() {
		if i.State == lkepool.Down && !i.gone {
			i.State, i.Status = lkepool.Up, "running"
			p.recordInstance(i)
		}
	})
	p.recordInstance(i)
	p.record(of)
}

// remove takes a slot out of its pool; its instance is leaving, then gone.
func (p *simPlatform) remove(of *simPool, slot *simSlot) {
	slot.removed, of.shrunk = true, p.Now
	of.slots = slices.DeleteFunc(of.slots, func(other *simSlot) bool { return other == slot })
	of.Count = len(of.slots)
	p.record(of)
	if slot.instance != nil {
		p.end(slot.instance)
	}
}

func (p *simPlatform) end(i *simInstance) {
	if i.State == lkepool.Leaving {
		return
	}
	i.State, i.Status, i.ended = lkepool.Leaving, simSoonGone, p.Now
	p.recordInstance(i)
	p.After(p.between(0, p.delays.gone), func() {
		i.gone = true
		p.recordInstance(i)
	})
}

// drop ends a pool and everything in it.
func (p *simPlatform) drop(of *simPool) {
	for len(of.slots) > 0 {
		p.remove(of, of.slots[0])
	}
	of.gone = true
	p.record(of)
}

// ours reports whether the engine made the pool.
func (of *simPool) ours() bool { return !of.foreign }

// lives reports whether the instance still serves.
func (i *simInstance) lives() bool { return !i.gone && i.State != lkepool.Leaving }
