package lkepool

import (
	"errors"
	"slices"
	"time"
)

// What the platform does when a request reaches it. Reads take the moment that
// the answer shows; writes take effect at once.

var (
	errSimRefused = errors.New("refused by the platform")
	errSimLost    = errors.New("no answer")
	errSimMissing = errors.New("not found")
)

func simError(a action, kind Kind, effect Effect, cause error) *Error {
	return &Error{Kind: kind, Op: string(a.op), PoolID: a.poolID, Effect: effect, Err: cause}
}

// read answers a read with the state of a moment.
func (p *simPlatform) read(a action, at time.Duration) (d done) {
	d.action = a
	switch a.op {
	case opListPools:
		for _, of := range p.pools {
			if shown, ok := of.history.at(at); ok {
				d.pools = append(d.pools, shown)
			}
		}
	case opListInstances:
		for _, i := range p.instances {
			if shown, ok := i.history.at(at); ok && p.inList(shown) {
				d.instances = append(d.instances, shown)
			}
		}
	case opGetPool:
		if of := p.pool(a.poolID); of != nil {
			if shown, ok := of.history.at(at); ok {
				d.pool = shown
				return d
			}
		}
		d.err = simError(a, KindNotFound, EffectNone, errSimMissing)
	case opGetInstance:
		if i := p.instance(a.instanceID); i != nil {
			if shown, ok := i.history.at(at); ok {
				d.instance = shown
				return d
			}
		}
		d.err = simError(a, KindNotFound, EffectNone, errSimMissing)
	}
	return d
}

// write carries a write out and returns its answer.
func (p *simPlatform) write(a action) (d done) {
	d.action = a
	var err error
	switch a.op {
	case opCreate:
		d.pool, err = p.create(a)
	case opScale:
		d.pool, err = p.scale(a)
	case opMark:
		d.instance, err = p.mark(a)
	case opRemove:
		p.removeNode(a)
	case opDrop:
		if of := p.pool(a.poolID); of != nil && !of.gone {
			p.drop(of)
		}
	}
	d.err = err
	return d
}

func (p *simPlatform) create(a action) (Pool, error) {
	if err := p.fits(a, a.count); err != nil {
		return Pool{}, err
	}
	of := p.newPool(Pool{InstanceType: a.key.InstanceType, Template: a.key.Template, Tags: a.tags}, false)
	p.bought += a.count
	p.grow(of, a.count)
	shown, _ := of.history.at(p.now)
	return shown, nil
}

func (p *simPlatform) scale(a action) (Pool, error) {
	of := p.pool(a.poolID)
	if of == nil || of.gone {
		return Pool{}, simError(a, KindNotFound, EffectNone, errSimMissing)
	}
	if a.count < 1 {
		e := simError(a, KindInvalid, EffectNone, errSimRefused)
		e.Field = "count"
		return Pool{}, e
	}
	add := a.count - len(of.places)
	if err := p.fits(a, add); err != nil {
		return Pool{}, err
	}
	if add > 0 {
		p.bought += add
		p.grow(of, add)
		if of.Autoscaled {
			// A person took the pool out of use while the request was on its way.
			p.taken += add
		}
	}
	for range -add {
		// LKE does not document which nodes go.
		p.remove(of, of.places[p.random.IntN(len(of.places))])
		p.taken++
	}
	shown, _ := of.history.at(p.now)
	return shown, nil
}

// fits refuses as a whole what there is no room for.
func (p *simPlatform) fits(a action, add int) error {
	if p.room == 0 || add <= 0 {
		return nil
	}
	total := add
	for _, of := range p.pools {
		total += len(of.places)
	}
	if total <= p.room {
		return nil
	}
	return simError(a, p.full, EffectNone, errSimRefused)
}

func (p *simPlatform) mark(a action) (Instance, error) {
	i := p.instance(a.instanceID)
	if i == nil || i.gone {
		return Instance{}, simError(a, KindNotFound, EffectNone, errSimMissing)
	}
	i.Tags = slices.Clone(a.tags)
	p.recordInstance(i)
	return i.Instance, nil
}

func (p *simPlatform) removeNode(a action) {
	if of, place := p.place(a.poolID, a.nodeID); place != nil {
		p.remove(of, place)
	}
}

// place returns a member of a pool by its node ID, nil if there is none.
func (p *simPlatform) place(poolID int, nodeID string) (*simPool, *simPlace) {
	of := p.pool(poolID)
	if of == nil {
		return nil, nil
	}
	at := slices.IndexFunc(of.places, func(place *simPlace) bool { return place.nodeID == nodeID })
	if at < 0 {
		return of, nil
	}
	return of, of.places[at]
}

// pretend is the answer to a write that was accepted and is without effect.
func (p *simPlatform) pretend(a action) (d done) {
	d.action = a
	switch a.op {
	case opCreate:
		p.lastID++
		d.pool = Pool{ID: simFirstPool + p.lastID, Count: a.count, InstanceType: a.key.InstanceType, Template: a.key.Template, Tags: a.tags}
	case opScale:
		of := p.pool(a.poolID)
		if of == nil || of.gone {
			return p.write(a)
		}
		d.pool, _ = of.history.at(p.now)
		d.pool.Count = a.count
	case opMark:
		i := p.instance(a.instanceID)
		if i == nil || i.gone {
			return p.write(a)
		}
		i.edited = true
		d.instance = i.Instance
		d.instance.Tags = slices.Clone(a.tags)
	}
	return d
}
