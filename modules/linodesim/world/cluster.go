package world

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// ClusterSpec is a cluster to be.
type ClusterSpec struct {
	Label                  string
	Region                 string // "" = us-ord
	Tier                   string // "" = standard
	K8sVersion             string // "" = the tier's newest
	Tags                   []string
	Pools                  []PoolCreate
	HighAvailability       bool // Standard; Enterprise always has it
	AuditLogs, AppPlatform bool
	StackType              string // Enterprise; "" = not asked for
	VPCID, SubnetID        int    // Enterprise; 0 = not asked for
	Settled                bool   // its nodes have joined already; false: they take their time
}

// AddCluster makes a cluster with its pools, which may be none, and whose
// control plane can be reached at once.
func (w *World) AddCluster(by Actor, spec ClusterSpec) (Cluster, error) {
	defer w.lock()()
	return w.addCluster(by, spec)
}

func (w *World) addCluster(by Actor, spec ClusterSpec) (Cluster, error) {
	w.defaults(&spec)
	if err := w.checkCluster(spec); err != nil {
		return Cluster{}, err
	}
	c := &cluster{Cluster: Cluster{
		ID: w.nextID(&w.seq.cluster), Label: spec.Label, Region: spec.Region, Tier: spec.Tier, K8sVersion: spec.K8sVersion,
		// High availability was on in every recorded Enterprise cluster.
		HighAvailability: spec.Tier == catalog.Enterprise || spec.HighAvailability,
		AuditLogs:        spec.AuditLogs, AppPlatform: spec.AppPlatform, StackType: spec.StackType, VPCID: spec.VPCID, SubnetID: spec.SubnetID,
		Reachable: w.now,
		Tags:      nonNil(slices.Clone(spec.Tags)), Created: w.now, Updated: w.now,
	}}
	for i, p := range spec.Pools {
		if err := w.checkPoolCreate(c, p); err != nil {
			return Cluster{}, Prefixed(err, "node_pools", i)
		}
	}
	w.clusters[c.ID] = c
	w.record(by, Entry{Action: ClusterCreated, ClusterID: c.ID, After: c.Label})
	profile := w.profile
	if spec.Settled {
		w.profile = Profile{}
	}
	for _, p := range spec.Pools {
		w.addPool(by, c, p)
	}
	w.profile = profile
	return w.clusterState(c), nil
}

func (w *World) defaults(spec *ClusterSpec) {
	spec.Region = cmp.Or(spec.Region, "us-ord")
	spec.Tier = cmp.Or(spec.Tier, catalog.Standard)
	if versions := w.catalog.Versions(spec.Tier); spec.K8sVersion == "" && len(versions) > 0 {
		spec.K8sVersion = versions[0]
	}
}

func (w *World) checkCluster(spec ClusterSpec) error {
	var bad reasons
	if len(spec.Label) < 1 || len(spec.Label) > 32 {
		bad.add("label", "Length must be 1-32 characters")
	}
	capability := catalog.CapKubernetes
	switch spec.Tier {
	case catalog.Standard:
	case catalog.Enterprise:
		capability = catalog.CapKubernetesEnterprise
	default:
		bad.add("tier", "tier is not valid")
		return bad.err()
	}
	if r, ok := w.catalog.Region(spec.Region); !ok {
		bad.add("region", "region is not valid")
	} else if !r.Has(capability) {
		bad.add("region", "%s is not available in region %s", capability, spec.Region)
	}
	if !w.catalog.HasVersion(spec.Tier, spec.K8sVersion) {
		bad.add("k8s_version", "k8s_version is not valid")
	}
	checkTags(&bad, spec.Tags)
	return bad.err()
}

// Clusters lists them by ID, with their pools.
func (w *World) Clusters() []Cluster {
	defer w.lock()()
	return w.clusterStates()
}

func (w *World) clusterStates() []Cluster {
	out := make([]Cluster, 0, len(w.clusters))
	for _, id := range slices.Sorted(maps.Keys(w.clusters)) {
		out = append(out, w.clusterState(w.clusters[id]))
	}
	return out
}

// Cluster finds one.
func (w *World) Cluster(id int) (Cluster, error) {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return Cluster{}, notFound()
	}
	return w.clusterState(c), nil
}

func (w *World) clusterState(c *cluster) Cluster {
	out := c.clone()
	out.Pools = make([]Pool, len(c.pools))
	for i, p := range c.pools {
		out.Pools[i] = p.state()
	}
	return out
}

func (p *pool) state() Pool {
	out := p.clone()
	out.Nodes = make([]Node, len(p.nodes))
	for i, n := range p.nodes {
		out.Nodes[i] = n.Node
	}
	return out
}

// Snapshot copies everything.
func (w *World) Snapshot() State {
	defer w.lock()()
	return State{At: w.now, Clusters: w.clusterStates(), Instances: w.instanceStates()}
}

func (w *World) instanceStates() []Instance {
	out := make([]Instance, 0, len(w.instances))
	for _, id := range slices.Sorted(maps.Keys(w.instances)) {
		out = append(out, w.instances[id].clone())
	}
	return out
}

// Freeze gives a copy of the world that stays as it is: what a reader sees
// whose reads lag behind. Only its reading methods may be used.
func (w *World) Freeze() *World {
	defer w.lock()()
	return w.freeze()
}

func (w *World) freeze() *World {
	f := &World{
		clock: w.clock, profile: w.profile, behaviour: w.behaviour, catalog: w.catalog, now: w.now, frozen: true,
		clusters: map[int]*cluster{}, pools: map[int]*pool{}, instances: map[int]*Instance{}, firewalls: maps.Clone(w.firewalls), assets: w.assets.clone(), feed: newFeed(),
		accountBackups: w.accountBackups,
	}
	for id, c := range w.clusters {
		copied := &cluster{Cluster: c.clone()}
		for _, p := range c.pools {
			q := &pool{Pool: p.clone(), cluster: copied}
			for _, n := range p.nodes {
				q.nodes = append(q.nodes, &node{Node: n.Node, pool: q})
			}
			copied.pools = append(copied.pools, q)
			f.pools[p.ID] = q
		}
		f.clusters[id] = copied
	}
	for id, i := range w.instances {
		copied := i.clone()
		f.instances[id] = &copied
	}
	return f
}
