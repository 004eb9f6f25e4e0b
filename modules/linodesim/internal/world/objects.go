package world

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// objects are the clusters, pools and Linodes, by ID.
type objects struct {
	clusters  map[int]*cluster
	pools     map[int]*pool
	instances map[int]*Instance
}

func newObjects() objects {
	return objects{clusters: map[int]*cluster{}, pools: map[int]*pool{}, instances: map[int]*Instance{}}
}

// cloneObjects shares nothing that changes with the original.
func (o objects) cloneObjects() objects {
	out := newObjects()
	for id, c := range o.clusters {
		copied := &cluster{Cluster: cloneCluster(c.Cluster), addressed: c.addressed, hangs: c.hangs}
		for _, p := range c.pools {
			q := &pool{Pool: clonePool(p.Pool), cluster: copied}
			for _, n := range p.nodes {
				q.nodes = append(q.nodes, &node{Node: n.Node, pool: q, waits: n.waits})
			}
			copied.pools = append(copied.pools, q)
			out.pools[p.ID] = q
		}
		out.clusters[id] = copied
	}
	for id, i := range o.instances {
		out.instances[id] = new(i.clone())
	}
	return out
}

type cluster struct {
	account.Cluster
	pools     []*pool
	addressed time.Time // when the addresses of its API server become available
	hangs     bool      // it waits for room for a VPC of its own; see Clusters.serve
}

type pool struct {
	account.Pool
	cluster *cluster
	nodes   []*node
}

type node struct {
	account.Node
	pool  *pool
	gone  bool
	waits bool      // it waits for room
	held  time.Time // it waits until then, even if there is room
	grant func()    // gives the node its Linode; nil in a copy of the world
}
