package core_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
)

// smallPlatform is LKE Standard as far as a search of small worlds needs it. It is all
// values, so that it can be cloned. Where the platform's behaviour has a source it is
// that of the simulator of random schedules: slots get an instance later, removals go by
// name, a pool's deletion takes its nodes, a count that is too low takes nodes away.
type smallPlatform struct {
	pools     []smallPool
	instances []smallInstance
	shown     fate.Views[smallState]
	lastID    int
	// bought counts the nodes that writes of the engine added.
	bought int
}

type smallPool struct {
	id    int
	key   lkepool.Key
	tags  []string
	slots []smallSlot
	gone  bool
}

type smallSlot struct {
	nodeID string
	// instance is 0 until arrives.
	instance int
	arrives  time.Time
}

type smallInstance struct {
	id, pool int
	nodeID   string
	tags     []string
	// ends is when it is gone, the zero time for one that serves.
	ends time.Time
	gone bool
}

func (i *smallInstance) lives() bool { return i != nil && !i.gone && i.ends.IsZero() }

// textOf stands for what a read shows.
func (s *smallState) textOf(a core.Action) string {
	switch a.Op {
	case core.OpListPools:
		return s.poolTexts[0]
	case core.OpListInstances:
		return s.instanceTexts[0]
	case core.OpGetPool:
		return s.poolTexts[a.PoolID]
	}
	return s.instanceTexts[a.InstanceID]
}

// smallState is all that readings show. It never changes, so that clones share it.
type smallState struct {
	pools     []lkepool.Pool
	instances []lkepool.Instance
	// The texts of pools and instances by ID, and of all of them.
	poolTexts, instanceTexts map[int]string
}

func (*smallState) SharedByClones() {}

const (
	smallCluster = "lke7"
	// smallGone is how long an instance that was removed still shows.
	smallGone = 5 * time.Second
)

// record keeps what readings show from now on.
func (p *smallPlatform) record(now time.Time) {
	s := &smallState{}
	for i := range p.pools {
		of := &p.pools[i]
		if of.gone {
			continue
		}
		shown := lkepool.Pool{ID: of.id, Count: len(of.slots), InstanceType: of.key.InstanceType, Template: of.key.Template, Tags: of.tags}
		for _, slot := range of.slots {
			shown.Slots = append(shown.Slots, lkepool.Slot{NodeID: slot.nodeID, InstanceID: slot.instance})
		}
		s.pools = append(s.pools, shown)
	}
	for i := range p.instances {
		of := &p.instances[i]
		if of.gone {
			continue
		}
		shown := lkepool.Instance{ID: of.id, Name: smallCluster + "-" + of.nodeID, InstanceType: "g6-standard-2", Region: "here",
			Status: "running", Tags: of.tags}
		if !of.ends.IsZero() {
			shown.State, shown.Status = lkepool.Leaving, "deleting"
		}
		s.instances = append(s.instances, shown)
	}
	s.poolTexts, s.instanceTexts = map[int]string{0: digest(s.pools)}, map[int]string{0: digest(s.instances)}
	for _, of := range s.pools {
		s.poolTexts[of.ID] = digest(of)
	}
	for _, of := range s.instances {
		s.instanceTexts[of.ID] = digest(of)
	}
	p.shown.Record(now, s.poolTexts[0]+s.instanceTexts[0], s)
}

// digest is a short text that stands for a value.
func digest(of any) string {
	sum := sha256.Sum256(fmt.Append(nil, of))
	return string(sum[:16])
}

func (p *smallPlatform) pool(id int) *smallPool {
	at := slices.IndexFunc(p.pools, func(of smallPool) bool { return of.id == id })
	if at < 0 || p.pools[at].gone {
		return nil
	}
	return &p.pools[at]
}

func (p *smallPlatform) instance(id int) *smallInstance {
	at := slices.IndexFunc(p.instances, func(i smallInstance) bool { return i.id == id })
	if at < 0 {
		return nil
	}
	return &p.instances[at]
}

func (p *smallPlatform) grow(of *smallPool, by int, arrives time.Time) {
	p.bought += by
	for range by {
		p.lastID++
		of.slots = append(of.slots, smallSlot{nodeID: strconv.Itoa(of.id) + "-" + strconv.Itoa(p.lastID), arrives: arrives})
	}
}

// remove takes a slot out of its pool; its instance ends.
func (p *smallPlatform) remove(of *smallPool, at int, now time.Time) {
	slot := of.slots[at]
	of.slots = slices.Delete(of.slots, at, at+1)
	if i := p.instance(slot.instance); i != nil && i.ends.IsZero() {
		i.ends = now.Add(smallGone)
	}
}

// elapse lets due events happen.
func (p *smallPlatform) elapse(now time.Time) {
	changed := false
	for i := range p.pools {
		for j := range p.pools[i].slots {
			slot := &p.pools[i].slots[j]
			if slot.instance != 0 || slot.arrives.After(now) {
				continue
			}
			p.lastID++
			slot.instance = 1000 + p.lastID
			p.instances = append(p.instances, smallInstance{id: slot.instance, pool: p.pools[i].id, nodeID: slot.nodeID})
			changed = true
		}
	}
	for i := range p.instances {
		if of := &p.instances[i]; !of.gone && !of.ends.IsZero() && !of.ends.After(now) {
			of.gone, changed = true, true
		}
	}
	if changed {
		p.record(now)
	}
}

// next is when something is due, the zero time for never.
func (p *smallPlatform) next() (next time.Time) {
	for _, of := range p.pools {
		for _, slot := range of.slots {
			if slot.instance == 0 {
				next = fate.Sooner(next, slot.arrives)
			}
		}
	}
	for _, i := range p.instances {
		if !i.gone {
			next = fate.Sooner(next, i.ends)
		}
	}
	return next
}

func smallError(a core.Action, kind claims.Kind, effect claims.Effect) *claims.Error {
	return &claims.Error{Kind: kind, Op: string(a.Op), Object: claims.Object("pool", a.PoolID), Effect: effect,
		Err: errSmall(cmp.Or(string(effect), "?"))}
}

// errSmall is the cause of an error: it has no text that differs between runs.
type errSmall string

func (e errSmall) Error() string { return string(e) }

// read answers a read with a state.
func (s *smallState) read(a core.Action) (d core.Done) {
	switch a.Op {
	case core.OpListPools:
		d.Pools = s.pools
	case core.OpListInstances:
		d.Instances = s.instances
	case core.OpGetPool:
		at := slices.IndexFunc(s.pools, func(p lkepool.Pool) bool { return p.ID == a.PoolID })
		if at < 0 {
			return core.Done{Err: smallError(a, claims.KindNotFound, claims.EffectNone)}
		}
		d.Pool = s.pools[at]
	case core.OpGetInstance:
		at := slices.IndexFunc(s.instances, func(i lkepool.Instance) bool { return i.ID == a.InstanceID })
		if at < 0 {
			return core.Done{Err: smallError(a, claims.KindNotFound, claims.EffectNone)}
		}
		d.Instance = s.instances[at]
	}
	return cloned(d)
}

// cloned is an answer that shares nothing with the state it was taken from.
func cloned(d core.Done) core.Done {
	d.Pools, d.Instances = slices.Clone(d.Pools), slices.Clone(d.Instances)
	for i := range d.Pools {
		d.Pools[i] = clonedPool(d.Pools[i])
	}
	for i := range d.Instances {
		d.Instances[i].Tags = slices.Clone(d.Instances[i].Tags)
	}
	d.Pool, d.Instance.Tags = clonedPool(d.Pool), slices.Clone(d.Instance.Tags)
	return d
}

func clonedPool(p lkepool.Pool) lkepool.Pool {
	p.Tags, p.Slots = slices.Clone(p.Tags), slices.Clone(p.Slots)
	return p
}

// write carries a write out, and answers it.
func (p *smallPlatform) write(a core.Action, now time.Time, takes time.Duration) (d core.Done) {
	missing := core.Done{Err: smallError(a, claims.KindNotFound, claims.EffectNone)}
	switch a.Op {
	case core.OpCreate:
		p.lastID++
		p.pools = append(p.pools, smallPool{id: 100 + p.lastID, key: a.Key, tags: slices.Clone(a.Tags)})
		of := &p.pools[len(p.pools)-1]
		p.grow(of, a.Count, now.Add(takes))
		a.PoolID = of.id
	case core.OpScale:
		of := p.pool(a.PoolID)
		if of == nil {
			return missing
		}
		if a.Count > len(of.slots) {
			p.grow(of, a.Count-len(of.slots), now.Add(takes))
		}
		for len(of.slots) > a.Count {
			p.remove(of, len(of.slots)-1, now)
		}
	case core.OpMark:
		i := p.instance(a.InstanceID)
		if i == nil || i.gone {
			return missing
		}
		i.tags = slices.Clone(a.Tags)
	case core.OpRemove:
		if of := p.pool(a.PoolID); of != nil {
			if at := slices.IndexFunc(of.slots, func(s smallSlot) bool { return s.nodeID == a.NodeID }); at >= 0 {
				p.remove(of, at, now)
			}
		}
	case core.OpRetire:
		of := p.pool(a.PoolID)
		if of == nil {
			return missing
		}
		of.tags = slices.Clone(a.Tags)
	case core.OpDrop:
		if of := p.pool(a.PoolID); of != nil {
			for len(of.slots) > 0 {
				p.remove(of, 0, now)
			}
			of.gone = true
		}
	}
	p.record(now)
	newest := p.shown.Newest().State
	switch a.Op {
	case core.OpCreate, core.OpScale, core.OpRetire:
		a.Op = core.OpGetPool
	case core.OpMark:
		a.Op = core.OpGetInstance
	default:
		return core.Done{}
	}
	return newest.read(a)
}
