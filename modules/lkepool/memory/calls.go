package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Pools shows all pools.
func (p *Platform) Pools(ctx context.Context) ([]lkepool.Pool, error) {
	return call(ctx, p, "Pools", func() ([]lkepool.Pool, error) {
		var pools []lkepool.Pool
		for _, id := range slices.Sorted(maps.Keys(p.pools)) {
			pools = append(pools, p.shown(p.pools[id]))
		}
		return pools, nil
	})
}

// Instances shows all instances.
func (p *Platform) Instances(ctx context.Context) ([]lkepool.Instance, error) {
	return call(ctx, p, "Instances", func() ([]lkepool.Instance, error) {
		var instances []lkepool.Instance
		for _, id := range slices.Sorted(maps.Keys(p.instances)) {
			instances = append(instances, p.instances[id].shown())
		}
		return instances, nil
	})
}

// Pool shows one pool.
func (p *Platform) Pool(ctx context.Context, id int) (lkepool.Pool, error) {
	return call(ctx, p, "Pool", func() (lkepool.Pool, error) {
		of, ok := p.pools[id]
		if !ok {
			return lkepool.Pool{}, failure(claims.KindNotFound, "Pool", id, "no such pool")
		}
		return p.shown(of), nil
	})
}

// Instance shows one instance.
func (p *Platform) Instance(ctx context.Context, id int) (lkepool.Instance, error) {
	return call(ctx, p, "Instance", func() (lkepool.Instance, error) {
		i, ok := p.instances[id]
		if !ok {
			return lkepool.Instance{}, failure(claims.KindNotFound, "Instance", 0, "no such instance")
		}
		return i.shown(), nil
	})
}

// Create makes a pool.
func (p *Platform) Create(ctx context.Context, spec lkepool.PoolSpec) (lkepool.Pool, error) {
	return call(ctx, p, "Create", func() (lkepool.Pool, error) {
		if err := p.room(0, spec.Count, spec.Count); err != nil {
			return lkepool.Pool{}, err
		}
		p.lastID++
		of := &pool{Pool: lkepool.Pool{
			ID: p.lastID, InstanceType: spec.Key.InstanceType, Template: spec.Key.Template, Tags: slices.Clone(spec.Tags),
		}}
		p.pools[of.ID] = of
		for range spec.Count {
			p.add(of)
		}
		return p.shown(of), nil
	})
}

// Scale sets a pool's count. A lower count removes the newest nodes.
func (p *Platform) Scale(ctx context.Context, poolID, count int) (lkepool.Pool, error) {
	return call(ctx, p, "Scale", func() (lkepool.Pool, error) {
		of, ok := p.pools[poolID]
		if !ok {
			return lkepool.Pool{}, failure(claims.KindNotFound, "Scale", poolID, "no such pool")
		}
		if err := p.room(poolID, count, count-of.Count); err != nil {
			return lkepool.Pool{}, err
		}
		for of.Count > count {
			p.drop(of, of.nodes[len(of.nodes)-1])
		}
		for of.Count < count {
			p.add(of)
		}
		return p.shown(of), nil
	})
}

func (p *Platform) room(poolID, count, more int) error {
	if count < 1 || count > p.cfg.PoolSize {
		return failure(claims.KindInvalid, "Scale", poolID, "count out of range")
	}
	if p.cfg.Capacity > 0 && more > 0 && p.total()+more > p.cfg.Capacity {
		return failure(claims.KindInsufficientCapacity, "Scale", poolID, "no capacity left")
	}
	return nil
}

// Mark replaces an instance's tags.
func (p *Platform) Mark(ctx context.Context, instanceID int, tags []string) (lkepool.Instance, error) {
	return call(ctx, p, "Mark", func() (lkepool.Instance, error) {
		i, ok := p.instances[instanceID]
		if !ok {
			return lkepool.Instance{}, failure(claims.KindNotFound, "Mark", 0, "no such instance")
		}
		i.Tags = slices.Clone(tags)
		return i.shown(), nil
	})
}

// TagPool replaces a pool's tags.
func (p *Platform) TagPool(ctx context.Context, poolID int, tags []string) (lkepool.Pool, error) {
	return call(ctx, p, "TagPool", func() (lkepool.Pool, error) {
		of, ok := p.pools[poolID]
		if !ok {
			return lkepool.Pool{}, failure(claims.KindNotFound, "TagPool", poolID, "no such pool")
		}
		of.Tags = slices.Clone(tags)
		return p.shown(of), nil
	})
}

// Remove removes a node.
func (p *Platform) Remove(ctx context.Context, poolID int, nodeID string) error {
	_, err := call(ctx, p, "Remove", func() (struct{}, error) {
		of, ok := p.pools[poolID]
		if !ok {
			return struct{}{}, nil
		}
		for _, n := range of.nodes {
			if n.id == nodeID {
				p.drop(of, n)
				break
			}
		}
		return struct{}{}, nil
	})
	return err
}

// Drop deletes a pool.
func (p *Platform) Drop(ctx context.Context, poolID int) error {
	_, err := call(ctx, p, "Drop", func() (struct{}, error) {
		if of, ok := p.pools[poolID]; ok {
			for len(of.nodes) > 0 {
				p.drop(of, of.nodes[0])
			}
			delete(p.pools, poolID)
		}
		return struct{}{}, nil
	})
	return err
}

// Count returns the number of nodes that the pools are to have.
func (p *Platform) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total()
}

// Calls counts the calls by method.
func (p *Platform) Calls() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Stall makes the next requested node never get an instance.
func (p *Platform) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalls++
}

// Edit changes a pool as a person would by hand.
func (p *Platform) Edit(poolID int, change func(*lkepool.Pool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of, ok := p.pools[poolID]; ok {
		change(&of.Pool)
	}
}

// EditInstance changes an instance as a person would by hand.
func (p *Platform) EditInstance(id int, change func(*lkepool.Instance)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok := p.instances[id]; ok {
		change(&i.Instance)
	}
}

// Recycle replaces a node's instance by a new instance, as the platform does for
// a recycled node and for an instance that a person deleted.
func (p *Platform) Recycle(instanceID int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.instances[instanceID]
	if !ok {
		return
	}
	for _, n := range p.pools[i.PoolID].nodes {
		if n.started == i {
			n.started = nil
			n.due = p.cfg.Clock.Now()
			if p.cfg.InstanceAfter != nil {
				n.due = n.due.Add(p.cfg.InstanceAfter())
			}
		}
	}
	i.State, i.Status, i.gone = lkepool.Leaving, "deleting", p.cfg.Clock.Now().Add(p.cfg.GoneAfter)
}
