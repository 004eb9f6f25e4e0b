package lkepool

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// poolMemory is how old what is known of a pool may be when Get describes one
// of its nodes. The instance itself is always read.
const poolMemory = 30 * time.Second

// Get reads one instance. KindNotFound is proven by a 404; KindConflict means
// that the instance exists and is not one of ours. After an accepted removal it
// answers for as long as the API does.
func (a *Allocator) Get(ctx context.Context, instanceID int) (Node, error) {
	if instanceID <= 0 {
		return Node{}, invalid("get", "instanceID", "%d is not an instance ID", instanceID)
	}
	instance, err := a.backend.Instance(ctx, instanceID)
	if err != nil {
		return Node{}, asError("get", err)
	}
	if instance.Foreign {
		return Node{}, notOurs("get", instanceID, instance.PoolID)
	}
	pool, known, err := a.homeOf(ctx, instanceID, poolMemory)
	if err != nil {
		return Node{}, asError("get", err)
	}
	if known && !pool.ours() || !known && claimOf(instance.Tags) == "" && !a.ledger.hasLeft(instanceID) {
		return Node{}, notOurs("get", instanceID, pool.ID)
	}
	nodeID, _ := pool.slot(instanceID)
	node := a.node(pool, nodeID, instance)
	if !known {
		node.Health = a.looseHealth(node)
	}
	return node, nil
}

// youth is for how long an instance without a pool may be so new that a list
// lacked it.
const youth = 2 * time.Minute

// looseHealth judges an instance that no pool lists.
func (a *Allocator) looseHealth(node Node) Health {
	if node.Health == Healthy && a.cfg.Clock.Since(node.Created) > youth {
		return Detached
	}
	return node.Health
}

// List reads all claimed nodes of this cluster, in the order of their IDs, with
// the lists of pools and instances alone. It is never partial: an error instead.
func (a *Allocator) List(ctx context.Context) ([]Node, error) {
	r, err := a.reads.Do(ctx)
	if err != nil {
		return nil, asError("list", err)
	}
	var nodes []Node
	seen := map[int]bool{}
	for _, pool := range r.Pools {
		for _, member := range pool.Members {
			seen[member.ID] = true
			if node := a.node(pool, member.NodeID, member.Instance); pool.ours() && node.Claim != "" {
				nodes = append(nodes, node)
			}
		}
	}
	for _, instance := range r.Loose {
		node := a.node(Pool{}, "", instance)
		if node.Claim == "" || seen[instance.ID] || !slices.Contains(instance.Tags, ManagedTag) {
			continue
		}
		node.Health = a.looseHealth(node)
		seen[instance.ID] = true
		nodes = append(nodes, node)
	}
	nodes = append(nodes, a.ledger.unseen(seen, r.began)...)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.InstanceID, b.InstanceID) })
	return nodes, nil
}

// homeOf returns the pool of an instance, as it was known not longer ago than
// the given time.
func (a *Allocator) homeOf(ctx context.Context, instanceID int, memory time.Duration) (Pool, bool, error) {
	pool, known := a.ledger.home(instanceID)
	if known && a.cfg.Clock.Since(a.ledger.poolKnown(pool.ID)) <= memory {
		return pool, true, nil
	}
	if _, err := a.reads.Do(ctx); err != nil {
		return Pool{}, false, err
	}
	pool, known = a.ledger.home(instanceID)
	return pool, known, nil
}
