package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// PoolCreate is a pool to be. Nil and zero fields are as if left out.
type PoolCreate struct {
	Type           string
	Count          int
	Label          string
	Labels         map[string]string
	Taints         []Taint
	Tags           []string
	Disks          []Disk
	Autoscaler     *Autoscaler
	DiskEncryption string
	FirewallID     *int
	K8sVersion     string
	UpdateStrategy string
	Isolation      *Isolation
}

// PoolUpdate changes a pool; nil fields keep their value, given ones replace
// it as a whole.
type PoolUpdate struct {
	Count          *int
	Label          *string
	Labels         *map[string]string
	Taints         *[]Taint
	Tags           *[]string
	Autoscaler     *Autoscaler
	FirewallID     *int
	K8sVersion     *string
	UpdateStrategy *string
}

// Pool finds one of a cluster.
func (w *World) Pool(clusterID, poolID int) (Pool, error) {
	defer w.lock()()
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return Pool{}, err
	}
	return p.state(), nil
}

func (w *World) find(clusterID, poolID int) (*pool, error) {
	p, ok := w.pools[poolID]
	if !ok || p.ClusterID != clusterID {
		return nil, notFound()
	}
	return p, nil
}

// CreatePool adds a pool and asks for its nodes.
func (w *World) CreatePool(by Actor, clusterID int, spec PoolCreate) (Pool, error) {
	defer w.lock()()
	c, ok := w.clusters[clusterID]
	if !ok {
		return Pool{}, notFound()
	}
	if err := w.checkPoolCreate(c, spec); err != nil {
		return Pool{}, err
	}
	if err := w.checkRoom(c, spec.Type, spec.Count); err != nil {
		return Pool{}, err
	}
	return w.addPool(by, c, spec).state(), nil
}

func (w *World) addPool(by Actor, c *cluster, spec PoolCreate) *pool {
	p := &pool{cluster: c, Pool: Pool{
		ID: w.nextID(&w.seq.pool), ClusterID: c.ID, Tier: c.Tier, Type: spec.Type, Label: spec.Label, Count: spec.Count,
		Autoscaler: Autoscaler{Min: spec.Count, Max: spec.Count},
		Disks:      spec.Disks, Labels: spec.Labels, Taints: spec.Taints, Tags: spec.Tags,
		DiskEncryption: spec.DiskEncryption, FirewallID: spec.FirewallID, Isolation: spec.Isolation,
		CreatedBy: by.User, Created: w.now,
	}.clone()}
	p.Labels = nonNilMap(p.Labels)
	if spec.Autoscaler != nil {
		p.Autoscaler = *spec.Autoscaler
	}
	// When left out, Standard answers enabled, Enterprise disabled (recorded).
	p.DiskEncryption = cmp.Or(p.DiskEncryption, "enabled")
	if c.Tier == catalog.Enterprise {
		p.DiskEncryption = cmp.Or(spec.DiskEncryption, "disabled")
		p.K8sVersion = cmp.Or(spec.K8sVersion, c.K8sVersion)
		p.UpdateStrategy = cmp.Or(spec.UpdateStrategy, "on_recycle")
	}
	w.pools[p.ID] = p
	c.pools = append(c.pools, p)
	w.record(by, Entry{Action: PoolCreated, ClusterID: c.ID, PoolID: p.ID, After: strconv.Itoa(p.Count)})
	for range p.Count {
		w.addNode(by, p)
	}
	return p
}

// UpdatePool changes a pool. Raising the count asks for nodes; lowering it
// removes nodes of the platform's choice.
func (w *World) UpdatePool(by Actor, clusterID, poolID int, change PoolUpdate) (Pool, error) {
	defer w.lock()()
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return Pool{}, err
	}
	if err := w.checkPoolUpdate(p, change); err != nil {
		return Pool{}, err
	}
	if change.Count != nil && *change.Count > p.Count {
		if err := w.checkRoom(p.cluster, p.Type, *change.Count-p.Count); err != nil {
			return Pool{}, err
		}
	}
	w.edit(by, p, change)
	if change.Count != nil && *change.Count != p.Count {
		w.scale(by, p, *change.Count)
	}
	return p.state(), nil
}

func (w *World) edit(by Actor, p *pool, c PoolUpdate) {
	before := p.clone()
	set(&p.Label, c.Label)
	set(&p.K8sVersion, c.K8sVersion)
	set(&p.UpdateStrategy, c.UpdateStrategy)
	set(&p.Autoscaler, c.Autoscaler)
	if c.FirewallID != nil {
		id := *c.FirewallID
		p.FirewallID = &id
	}
	if c.Labels != nil {
		p.Labels = nonNilMap(maps.Clone(*c.Labels))
	}
	if c.Taints != nil {
		p.Taints = slices.Clone(*c.Taints)
	}
	if c.Tags != nil {
		p.Tags = slices.Clone(*c.Tags)
		w.cascadeTags(by, p, before.Tags)
	}
	if was, is := describe(before), describe(p.Pool); was != is {
		w.record(by, Entry{Action: PoolEdited, ClusterID: p.ClusterID, PoolID: p.ID, Before: was, After: is})
	}
	if !maps.Equal(before.Labels, p.Labels) || !slices.Equal(before.Taints, p.Taints) {
		for _, n := range p.nodes {
			if !n.JoinedAt.IsZero() {
				w.publish(NodeChanged, n)
			}
		}
	}
}

func describe(p Pool) string {
	firewall := "-"
	if p.FirewallID != nil {
		firewall = strconv.Itoa(*p.FirewallID)
	}
	return fmt.Sprintf("label=%q labels=%v taints=%v tags=%v autoscaler=%v firewall=%s version=%s strategy=%s",
		p.Label, p.Labels, p.Taints, p.Tags, p.Autoscaler, firewall, p.K8sVersion, p.UpdateStrategy)
}

func (w *World) scale(by Actor, p *pool, to int) {
	w.setCount(by, p, to)
	for len(p.nodes) < to {
		w.addNode(by, p)
	}
	for len(p.nodes) > to {
		w.removeNode(by, p.nodes[w.rng.IntN(len(p.nodes))])
	}
}

func (w *World) setCount(by Actor, p *pool, to int) {
	w.record(by, Entry{Action: PoolCount, ClusterID: p.ClusterID, PoolID: p.ID, Before: strconv.Itoa(p.Count), After: strconv.Itoa(to)})
	p.Count = to
}

// DeletePool removes a pool and all its nodes.
func (w *World) DeletePool(by Actor, clusterID, poolID int) error {
	defer w.lock()()
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return err
	}
	if p.cluster.Tier == catalog.Standard && len(p.cluster.pools) == 1 && !w.behaviour.AllowLastPool {
		return refuse("", "The last node pool of a cluster cannot be deleted.")
	}
	w.dropPool(by, p)
	return nil
}

func (w *World) dropPool(by Actor, p *pool) {
	for len(p.nodes) > 0 {
		w.removeNode(by, p.nodes[0])
	}
	p.gone = true
	delete(w.pools, p.ID)
	p.cluster.pools = slices.DeleteFunc(p.cluster.pools, func(q *pool) bool { return q == p })
	w.record(by, Entry{Action: PoolDeleted, ClusterID: p.ClusterID, PoolID: p.ID, Before: strconv.Itoa(p.Count)})
}

// RecyclePool replaces the pool's nodes one after another.
func (w *World) RecyclePool(by Actor, clusterID, poolID int) error {
	defer w.lock()()
	p, err := w.find(clusterID, poolID)
	if err != nil {
		return err
	}
	w.recycleNext(by, slices.Clone(p.nodes))
	return nil
}

// recycleNext replaces the first and, when its successor should have joined,
// goes on with the rest.
func (w *World) recycleNext(by Actor, rest []*node) {
	for len(rest) > 0 && rest[0].gone {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	wait := w.replaceNode(by, rest[0])
	w.in(wait, func() { w.recycleNext(by, rest[1:]) })
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func nonNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
