package lke

import (
	"context"
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// standard finds members through the pools' node lists.
type standard struct{ base }

// standardPoolSize is documented, and in the API's description.
const standardPoolSize = 100

func (s *standard) Limits() lkepool.Limits {
	return lkepool.Limits{PoolSize: standardPoolSize, CheapPolls: true}
}

func (s *standard) Check(key lkepool.Key) error {
	if id := key.Template.FirewallID; id != 0 {
		return refusal("Key.Template.FirewallID", "%d: only pools of LKE Enterprise have a firewall", id)
	}
	if version := key.Template.KubernetesVersion; version != "" {
		return refusal("Key.Template.KubernetesVersion", "%q: pools of LKE Standard follow the version of the cluster", version)
	}
	return checkTemplate(key.Template)
}

// Observe reads the pools first: every instance that a pool names then exists
// when the instances are read, unless it was removed meanwhile.
func (s *standard) Observe(ctx context.Context) (lkepool.Observation, error) {
	pools, err := s.pools(ctx)
	if err != nil {
		return lkepool.Observation{}, err
	}
	instances, err := s.workers(ctx)
	if err != nil {
		return lkepool.Observation{}, err
	}
	return joinBySlot(pools, instances), nil
}

// workers lists the cluster's instances. Their labels begin with lke<cluster>-
// (recorded); "contains" may match others, which instances sorts out.
func (s *standard) workers(ctx context.Context) ([]lkepool.Instance, error) {
	return s.instances(ctx, linode.Where("label").Contains(fmt.Sprintf("lke%d-", s.cluster.ID)))
}

func joinBySlot(pools []lkepool.Pool, instances []lkepool.Instance) lkepool.Observation {
	byID := make(map[int]lkepool.Instance, len(instances))
	for _, instance := range instances {
		byID[instance.ID] = instance
	}
	o := lkepool.Observation{Pools: pools}
	for i := range o.Pools {
		for _, slot := range o.Pools[i].Slots {
			instance, ok := byID[slot.InstanceID]
			if !ok {
				continue
			}
			o.Pools[i].Members = append(o.Pools[i].Members, lkepool.Member{NodeID: slot.NodeID, Instance: instance})
			delete(byID, slot.InstanceID)
		}
	}
	for _, instance := range instances {
		if _, loose := byID[instance.ID]; loose {
			o.Loose = append(o.Loose, instance)
		}
	}
	return o
}

// severalPools is the number from which one list of all pools is cheaper than a
// read of each.
const severalPools = 3

// Poll reads the pools' node lists. An instance that was not in its pool's list
// before is so new that nobody can have tagged it (LKE does not tag workers on
// Standard, recorded), so it need not be read to be claimed; the claim's own
// answer tells the rest about it.
func (s *standard) Poll(ctx context.Context, known []lkepool.Pool) ([]lkepool.Pool, error) {
	pools, err := s.reread(ctx, known)
	if err != nil {
		return nil, err
	}
	before := map[int]lkepool.Member{}
	listed := map[int]bool{}
	for _, pool := range known {
		for _, member := range pool.Members {
			before[member.ID] = member
		}
		for _, slot := range pool.Slots {
			listed[slot.InstanceID] = true
		}
	}
	for i := range pools {
		for _, slot := range pools[i].Slots {
			member, ok := before[slot.InstanceID]
			switch {
			case slot.InstanceID == 0:
				continue
			case !ok && listed[slot.InstanceID]:
				// It had an ID before, but no list of instances had it yet:
				// somebody may have claimed it.
				return s.pollFully(ctx, known)
			case !ok:
				member.ID, member.Unread = slot.InstanceID, true
			}
			member.NodeID = slot.NodeID
			pools[i].Members = append(pools[i].Members, member)
		}
	}
	return pools, nil
}

func (s *standard) pollFully(ctx context.Context, known []lkepool.Pool) ([]lkepool.Pool, error) {
	o, err := s.Observe(ctx)
	if err != nil {
		return nil, err
	}
	return only(o.Pools, known), nil
}

func (s *standard) reread(ctx context.Context, known []lkepool.Pool) ([]lkepool.Pool, error) {
	if len(known) >= severalPools {
		pools, err := s.pools(ctx)
		if err != nil {
			return nil, err
		}
		return only(pools, known), nil
	}
	var pools []lkepool.Pool
	for _, pool := range known {
		fresh, err := s.Pool(ctx, pool.ID)
		if lkepool.KindOf(err) == lkepool.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		pools = append(pools, fresh)
	}
	return pools, nil
}

func only(pools, wanted []lkepool.Pool) []lkepool.Pool {
	ids := map[int]bool{}
	for _, pool := range wanted {
		ids[pool.ID] = true
	}
	var picked []lkepool.Pool
	for _, pool := range pools {
		if ids[pool.ID] {
			picked = append(picked, pool)
		}
	}
	return picked
}

// Create: whatever instances the answer names already are known by that, and
// nobody else's.
func (s *standard) Create(ctx context.Context, spec lkepool.PoolSpec) (lkepool.Pool, error) {
	pool, err := s.create(ctx, spec, "")
	for i := range pool.Slots {
		// Left to the first poll, which then sees them as new.
		pool.Slots[i].InstanceID = 0
	}
	return pool, err
}
