package core

import (
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// What the platform does when a request reaches it. Reads take the moment that
// the answer shows; writes take effect at once.

var (
	errSimRefused = errors.New("refused by the platform")
	errSimLost    = errors.New("no answer")
	errSimMissing = errors.New("not found")
)

func simError(a Action, kind claims.Kind, effect claims.Effect, cause error) *claims.Error {
	return &claims.Error{Kind: kind, Op: string(a.Op), Object: claims.Object("pool", a.PoolID), Effect: effect, Err: cause}
}

// read answers a read with the state of a moment.
func (p *simPlatform) read(a Action, at time.Duration) (d Done) {
	d.Action = a
	switch a.Op {
	case OpListPools:
		for _, of := range p.pools {
			if shown, ok := of.history.At(at); ok {
				d.Pools = append(d.Pools, shown)
			}
		}
	case OpListInstances:
		for _, i := range p.instances {
			if shown, ok := i.history.At(at); ok && p.inList(shown) {
				d.Instances = append(d.Instances, shown)
			}
		}
	case OpGetPool:
		if of := p.pool(a.PoolID); of != nil {
			if shown, ok := of.history.At(at); ok {
				d.Pool = shown
				return d
			}
		}
		d.Err = simError(a, claims.KindNotFound, claims.EffectNone, errSimMissing)
	case OpGetInstance:
		if i := p.instance(a.InstanceID); i != nil {
			if shown, ok := i.history.At(at); ok {
				d.Instance = shown
				return d
			}
		}
		d.Err = simError(a, claims.KindNotFound, claims.EffectNone, errSimMissing)
	}
	return d
}

// write carries a write out and returns its answer.
func (p *simPlatform) write(a Action) (d Done) {
	d.Action = a
	var err error
	switch a.Op {
	case OpCreate:
		d.Pool, err = p.create(a)
	case OpScale:
		d.Pool, err = p.scale(a)
	case OpMark:
		d.Instance, err = p.mark(a)
	case OpRemove:
		p.removeNode(a)
	case OpRetire:
		d.Pool, err = p.retire(a)
	case OpDrop:
		if of := p.pool(a.PoolID); of != nil && !of.gone {
			p.drop(of)
		}
	}
	d.Err = err
	return d
}

func (p *simPlatform) create(a Action) (lkepool.Pool, error) {
	if err := p.fits(a, a.Count); err != nil {
		return lkepool.Pool{}, err
	}
	of := p.newPool(lkepool.Pool{InstanceType: a.Key.InstanceType, Template: a.Key.Template, Tags: a.Tags}, false)
	p.buy(a.Count)
	p.grow(of, a.Count)
	shown, _ := of.history.At(p.Now)
	return shown, nil
}

func (p *simPlatform) scale(a Action) (lkepool.Pool, error) {
	of := p.pool(a.PoolID)
	if of == nil || of.gone {
		return lkepool.Pool{}, simError(a, claims.KindNotFound, claims.EffectNone, errSimMissing)
	}
	if a.Count < 1 {
		e := simError(a, claims.KindInvalid, claims.EffectNone, errSimRefused)
		e.Field = "count"
		return lkepool.Pool{}, e
	}
	add := a.Count - len(of.slots)
	if err := p.fits(a, add); err != nil {
		return lkepool.Pool{}, err
	}
	if add > 0 {
		p.buy(add)
		p.grow(of, add)
		if of.Autoscaled {
			// A person took the pool out of use while the request was on its way.
			p.taken += add
		}
	}
	for range -add {
		// LKE does not document which nodes go.
		p.remove(of, of.slots[p.random.IntN(len(of.slots))])
		p.taken++
	}
	shown, _ := of.history.At(p.Now)
	return shown, nil
}

// fits refuses as a whole what there is no room for.
func (p *simPlatform) fits(a Action, add int) error {
	if p.room == 0 || add <= 0 {
		return nil
	}
	total := add
	for _, of := range p.pools {
		total += len(of.slots)
	}
	if total <= p.room {
		return nil
	}
	return simError(a, p.full, claims.EffectNone, errSimRefused)
}

func (p *simPlatform) mark(a Action) (lkepool.Instance, error) {
	i := p.instance(a.InstanceID)
	if i == nil || i.gone {
		return lkepool.Instance{}, simError(a, claims.KindNotFound, claims.EffectNone, errSimMissing)
	}
	if !simTags.ClaimIn(a.Tags).Is(simTags.ClaimIn(i.Tags)) {
		i.marked, i.shown = p.Now, 0
	}
	i.Tags = slices.Clone(a.Tags)
	p.recordInstance(i)
	return i.Instance, nil
}

// retire replaces the tags of a pool.
func (p *simPlatform) retire(a Action) (lkepool.Pool, error) {
	of := p.pool(a.PoolID)
	if of == nil || of.gone {
		return lkepool.Pool{}, simError(a, claims.KindNotFound, claims.EffectNone, errSimMissing)
	}
	of.Tags = slices.Clone(a.Tags)
	p.record(of)
	shown, _ := of.history.At(p.Now)
	return shown, nil
}

func (p *simPlatform) removeNode(a Action) {
	if of, slot := p.slot(a.PoolID, a.NodeID); slot != nil {
		p.remove(of, slot)
	}
}

// slot returns a member of a pool by its node ID, nil if the pool has no such member.
func (p *simPlatform) slot(poolID int, nodeID string) (*simPool, *simSlot) {
	of := p.pool(poolID)
	if of == nil {
		return nil, nil
	}
	at := slices.IndexFunc(of.slots, func(slot *simSlot) bool { return slot.nodeID == nodeID })
	if at < 0 {
		return of, nil
	}
	return of, of.slots[at]
}

// pretend is the answer to a write that was accepted and is without effect.
func (p *simPlatform) pretend(a Action) (d Done) {
	d.Action = a
	switch a.Op {
	case OpCreate:
		p.lastID++
		d.Pool = lkepool.Pool{ID: simFirstPool + p.lastID, Count: a.Count, InstanceType: a.Key.InstanceType, Template: a.Key.Template,
			Tags: a.Tags}
	case OpRemove, OpDrop:
		p.unremoved++
		for _, i := range p.instances {
			i.pretended = i.pretended || a.Op == OpDrop && i.pool.ID == a.PoolID || a.Op == OpRemove && i.slot.nodeID == a.NodeID
		}
	case OpScale:
		of := p.pool(a.PoolID)
		if of == nil || of.gone {
			return p.write(a)
		}
		d.Pool, _ = of.history.At(p.Now)
		d.Pool.Count = a.Count
	case OpRetire:
		of := p.pool(a.PoolID)
		if of == nil || of.gone {
			return p.write(a)
		}
		d.Pool, _ = of.history.At(p.Now)
		d.Pool.Tags = slices.Clone(a.Tags)
	case OpMark:
		i := p.instance(a.InstanceID)
		if i == nil || i.gone {
			return p.write(a)
		}
		i.edited = true
		d.Instance = i.Instance
		d.Instance.Tags = slices.Clone(a.Tags)
	}
	return d
}
