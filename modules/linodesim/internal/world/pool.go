package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

func poolSpec(b api.LKENodePoolCreate) (account.PoolSpec, error) {
	a, err := autoscaler(b.Autoscaler, api.LKEAutoscaler{Min: b.Count, Max: b.Count})
	return account.PoolSpec{
		Type: b.Type, Count: b.Count, Label: deref(b.Label), Labels: deref(b.Labels), Taints: deref(b.Taints), Tags: deref(b.Tags),
		Disks: deref(b.Disks), Autoscaler: a, DiskEncryption: string(deref(b.DiskEncryption)), FirewallID: b.FirewallID,
		K8sVersion: deref(b.K8SVersion), UpdateStrategy: string(deref(b.UpdateStrategy)), Isolation: b.Isolation,
	}, err
}

// autoscaler completes a setting from the pool's present setting. min and max must be
// given together.
func autoscaler(given *api.LKEAutoscalerUpdate, there api.LKEAutoscaler) (*api.LKEAutoscaler, error) {
	if given == nil {
		return nil, nil
	}
	if (given.Min == nil) != (given.Max == nil) {
		return nil, Refuse("autoscaler", "min and max must be given together")
	}
	return new(overlaid[api.LKEAutoscaler](there, given)), nil
}

// pool is a pool as the API shows it.
func (w Pools) pool(p *pool) api.LKENodePool {
	out := api.LKENodePool{
		ID: p.ID, Type: p.Type, Label: new(p.Label), Count: p.Count, Nodes: []api.LKENode{}, Disks: nonNil(p.Disks), Autoscaler: p.Autoscaler,
		Labels: p.Labels, Taints: nonNil(p.Taints), Tags: nonNil(p.Tags), DiskEncryption: api.DiskEncryption(p.DiskEncryption),
		Isolation: p.Isolation,
	}
	for _, n := range p.nodes {
		if n.Listed {
			out.Nodes = append(out.Nodes, w.Nodes().node(n))
		}
	}
	if !w.Beta {
		return out
	}
	out.Locks = &noLocks
	if p.Tier == catalog.Enterprise {
		out.K8SVersion, out.UpdateStrategy = new(p.K8sVersion), new(api.LKEUpdateStrategy(p.UpdateStrategy))
		out.FirewallID = numberOrNull(p.FirewallID)
	}
	return out
}

// ListLKENodePools lists the pools of a cluster in the order of their creation.
func (w Pools) ListLKENodePools(clusterID int) ([]api.LKENodePool, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return nil, err
	}
	return each(c.pools, w.pool), nil
}

// GetLKENodePool finds one.
func (w Pools) GetLKENodePool(clusterID, poolID int) (api.LKENodePool, error) {
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return api.LKENodePool{}, err
	}
	return w.pool(p), nil
}

func (w Pools) find(clusterID, poolID int) (*pool, error) {
	p, ok := w.pools[poolID]
	if !ok || p.ClusterID != clusterID {
		return nil, NotFound()
	}
	return p, nil
}

// CreateLKENodePool adds a pool and requests its nodes.
func (w Pools) CreateLKENodePool(clusterID int, b *api.LKENodePoolCreate) (api.LKENodePool, error) {
	spec, err := poolSpec(*b)
	if err != nil {
		return api.LKENodePool{}, err
	}
	p, err := w.createPool(clusterID, spec)
	if err != nil {
		return api.LKENodePool{}, err
	}
	return w.pool(p), nil
}

// AddPool is CreateLKENodePool with the types of package account.
func (w Pools) AddPool(clusterID int, spec account.PoolSpec) (account.Pool, error) {
	p, err := w.createPool(clusterID, spec)
	if err != nil {
		return account.Pool{}, err
	}
	return p.state(), nil
}

func (w Pools) createPool(clusterID int, spec account.PoolSpec) (*pool, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return nil, err
	}
	if err := w.checkPoolCreate(c, spec); err != nil {
		return nil, err
	}
	if err := w.checkRoom(c, spec.Type, spec.Count); err != nil {
		return nil, err
	}
	return w.addPool(c, spec), nil
}

func (w Pools) addPool(c *cluster, spec account.PoolSpec) *pool {
	p := &pool{cluster: c, Pool: clonePool(account.Pool{
		ID: w.nextID(&w.seq.pool), ClusterID: c.ID, Tier: c.Tier, Type: spec.Type, Label: spec.Label, Count: spec.Count,
		Autoscaler: api.LKEAutoscaler{Min: spec.Count, Max: spec.Count},
		PoolTemplate: account.PoolTemplate{
			Disks: spec.Disks, Labels: nonNilMap(spec.Labels), Taints: spec.Taints, Tags: spec.Tags,
			DiskEncryption: spec.DiskEncryption, FirewallID: spec.FirewallID, Isolation: spec.Isolation,
		},
		CreatedBy: w.User, Created: w.now,
	})}
	set(&p.Autoscaler, spec.Autoscaler)
	// When left out, Standard answers enabled, Enterprise disabled (recorded).
	p.DiskEncryption = cmp.Or(p.DiskEncryption, "enabled")
	if c.Tier == catalog.Enterprise {
		p.DiskEncryption = cmp.Or(spec.DiskEncryption, "disabled")
		p.K8sVersion = cmp.Or(spec.K8sVersion, c.K8sVersion)
		p.UpdateStrategy = cmp.Or(spec.UpdateStrategy, "on_recycle")
	}
	w.pools[p.ID] = p
	c.pools = append(c.pools, p)
	w.record(w.Actor, account.Entry{
		Action: account.PoolCreated, ClusterID: c.ID, PoolID: p.ID, After: strconv.Itoa(p.Count), Tags: strings.Join(p.Tags, ","),
	})
	for range p.Count {
		w.Nodes().addNode(w.Actor, p)
	}
	w.loseTags(p)
	w.lower(p)
	return p
}

// UpdateLKENodePool changes a pool; a given field replaces the value as a whole.
// Raising the count requests nodes; lowering it removes nodes of the platform's
// choice.
func (w Pools) UpdateLKENodePool(clusterID, poolID int, b *api.LKENodePoolUpdate) (api.LKENodePool, error) {
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return api.LKENodePool{}, err
	}
	scaling, err := autoscaler(b.Autoscaler, p.Autoscaler)
	if err != nil {
		return api.LKENodePool{}, err
	}
	if err := w.checkPoolUpdate(p, b, scaling); err != nil {
		return api.LKENodePool{}, err
	}
	if more := deref(b.Count) - p.Count; more > 0 {
		if err := w.checkRoom(p.cluster, p.Type, more); err != nil {
			return api.LKENodePool{}, err
		}
	}
	w.edit(p, b, scaling)
	if b.Count != nil && *b.Count != p.Count {
		raised := *b.Count > p.Count
		w.scale(p, *b.Count)
		if raised {
			w.lower(p)
		}
	}
	return w.pool(p), nil
}

func (w Pools) edit(p *pool, b *api.LKENodePoolUpdate, scaling *api.LKEAutoscaler) {
	before := clonePool(p.Pool)
	set(&p.Label, b.Label)
	set(&p.K8sVersion, b.K8SVersion)
	set(&p.UpdateStrategy, (*string)(b.UpdateStrategy))
	set(&p.Autoscaler, scaling)
	if b.FirewallID != nil {
		p.FirewallID = new(*b.FirewallID)
	}
	if b.Labels != nil {
		p.Labels = nonNilMap(maps.Clone(*b.Labels))
	}
	if b.Taints != nil {
		p.Taints = slices.Clone(*b.Taints)
	}
	if b.Tags != nil {
		p.Tags = slices.Clone(*b.Tags)
		w.cascadeTags(p, before.Tags)
		w.loseTags(p)
	}
	if was, is := describe(before), describe(p.Pool); was != is {
		w.record(w.Actor, account.Entry{Action: account.PoolEdited, ClusterID: p.ClusterID, PoolID: p.ID, Before: was, After: is})
	}
	if !maps.Equal(before.Labels, p.Labels) || !slices.Equal(before.Taints, p.Taints) {
		for _, n := range p.nodes {
			if !n.JoinedAt.IsZero() {
				w.Feed().publish(account.NodeChanged, n)
			}
		}
	}
}

func describe(p account.Pool) string {
	firewall := "-"
	if p.FirewallID != nil {
		firewall = strconv.Itoa(*p.FirewallID)
	}
	return fmt.Sprintf("label=%q labels=%v taints=%v tags=%v autoscaler=%v firewall=%s version=%s strategy=%s",
		p.Label, p.Labels, p.Taints, p.Tags, p.Autoscaler, firewall, p.K8sVersion, p.UpdateStrategy)
}

func (w Pools) scale(p *pool, to int) {
	w.setCount(p, to)
	for len(p.nodes) < to {
		w.Nodes().addNode(w.Actor, p)
	}
	for len(p.nodes) > to {
		w.Nodes().removeNode(w.Actor, p.nodes[w.draws.rng.IntN(len(p.nodes))])
	}
}

func (w Pools) setCount(p *pool, to int) {
	w.record(w.Actor, account.Entry{
		Action: account.PoolCount, ClusterID: p.ClusterID, PoolID: p.ID, Before: strconv.Itoa(p.Count), After: strconv.Itoa(to),
	})
	p.Count = to
}

// DeleteLKENodePool removes a pool and all its nodes.
func (w Pools) DeleteLKENodePool(clusterID, poolID int) error {
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return err
	}
	if p.cluster.Tier == catalog.Standard && len(p.cluster.pools) == 1 && !w.behaviour.AllowLastPool {
		return Refuse("", "The last node pool of a cluster cannot be deleted.")
	}
	w.dropPool(p)
	return nil
}

func (w Pools) dropPool(p *pool) {
	for len(p.nodes) > 0 {
		w.Nodes().removeNode(w.Actor, p.nodes[0])
	}
	delete(w.pools, p.ID)
	p.cluster.pools = slices.DeleteFunc(p.cluster.pools, func(q *pool) bool { return q == p })
	w.record(w.Actor, account.Entry{Action: account.PoolDeleted, ClusterID: p.ClusterID, PoolID: p.ID, Before: strconv.Itoa(p.Count)})
}

// RecycleLKENodePool replaces the pool's nodes one after another.
func (w Pools) RecycleLKENodePool(clusterID, poolID int) error {
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return err
	}
	w.recycleNext(w.Actor, slices.Clone(p.nodes))
	return nil
}

// recycleNext replaces the first node. When the new node should have joined, it goes on
// with the next node.
func (w Pools) recycleNext(by account.Actor, rest []*node) {
	for len(rest) > 0 && rest[0].gone {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	wait := w.Nodes().replaceNode(by, rest[0])
	w.in(wait, func() { w.recycleNext(by, rest[1:]) })
}
