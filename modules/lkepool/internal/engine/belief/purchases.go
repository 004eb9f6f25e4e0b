package belief

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// KeyState is the state of the purchases for one key.
type KeyState struct {
	// Creating is how many pools are being created.
	Creating int
	// began is when the newest purchase was sent.
	began time.Time
	// Room bounds the next purchase after a refusal for a limit; 0 is no bound.
	Room int
	// NotBefore keeps pools from being created while an earlier attempt, whose answer
	// was lost, may still show up.
	NotBefore time.Time
	// lost: the last creation was not answered.
	lost  bool
	Retry backoff
	// Joins are the nodes in a row that did not join.
	Joins pacing.Record
}

// purchases are the purchases under way, or without an answer.
type purchases struct {
	// Keys are the purchases by key.
	Keys map[string]*KeyState
	// buying counts the nodes in the creations under way by instance type.
	buying map[string]int
	// doubts are the creations that were not answered.
	doubts []doubt
}

// doubt is a creation that was not answered: its nodes count for the ceilings until
// a pool of its key shows up, or until a list would have to show one.
type doubt struct {
	hash, instanceType string
	nodes              int
	// until is how long the pool may be missing from a list.
	until time.Time
}

// key returns the state of the purchases for a key.
func (p *purchases) key(key lkepool.Key) *KeyState { return p.Keyed(key.Hash()) }

// Keyed is key for a hash that is known: to compute one costs more than all else
// that an event needs.
func (p *purchases) Keyed(hash string) *KeyState {
	k, ok := p.Keys[hash]
	if !ok {
		k = &KeyState{}
		p.Keys[hash] = k
	}
	return k
}

// doubt notes a creation that was not answered.
func (p *purchases) doubt(a event.Action, until time.Time) {
	p.doubts = append(p.doubts, doubt{hash: a.Key.Hash(), instanceType: a.Key.InstanceType, nodes: a.Bought, until: until})
}

// foundPool ends one doubt about a key of which a list shows a new pool that is not
// that of a creation under way.
func (p *purchases) foundPool(hash string, count int) {
	if hash == "" || p.Keyed(hash).Creating > 0 {
		return
	}
	at := slices.IndexFunc(p.doubts, func(d doubt) bool { return d.hash == hash && d.nodes == count })
	if at < 0 {
		at = slices.IndexFunc(p.doubts, func(d doubt) bool { return d.hash == hash })
	}
	if at >= 0 {
		p.doubts = slices.Delete(p.doubts, at, at+1)
	}
}

// pending counts the nodes of each instance type that creations under way or without
// an answer may add. listed is when the newest list of pools began.
func (p *purchases) pending(listed time.Time) map[string]int {
	pending := maps.Clone(p.buying)
	p.doubts = slices.DeleteFunc(p.doubts, func(d doubt) bool { return !listed.Before(d.until) })
	for _, d := range p.doubts {
		pending[d.instanceType] += d.nodes
	}
	return pending
}

// ended follows the end of a creation. It may have been begun before Begin.
func (p *purchases) ended(a event.Action) {
	if a.Op == event.OpCreate {
		k := p.key(a.Key)
		p.buying[a.Key.InstanceType] = max(0, p.buying[a.Key.InstanceType]-a.Bought)
		k.Creating = max(0, k.Creating-1)
	}
}

// forget drops the keys without pools, claims and purchases whose pauses ended long ago.
func (p *purchases) forget(used map[string]bool, now time.Time) {
	maps.DeleteFunc(p.Keys, func(hash string, k *KeyState) bool {
		return !used[hash] && k.Creating == 0 && k.Joins.InARow == 0 && now.Sub(Latest(k.NotBefore, k.Retry.Until)) > tuning.GoneMemory
	})
}
