package lke

import (
	"context"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// enterprise finds members through the tags that LKE puts on its workers.
type enterprise struct{ base }

// enterprisePoolSize is what Cloud Manager allows; the API's description still
// says 100 for both tiers.
const enterprisePoolSize = 500

func (e *enterprise) Limits() lkepool.Limits {
	return lkepool.Limits{PoolSize: enterprisePoolSize, NodesLag: true}
}

func (e *enterprise) Check(key lkepool.Key) error { return checkTemplate(key.Template) }

func (e *enterprise) Observe(ctx context.Context) (lkepool.Observation, error) {
	pools, err := e.pools(ctx)
	if err != nil {
		return lkepool.Observation{}, err
	}
	instances, err := e.instances(ctx, linode.Where("tags").Equal(e.clusterTag()))
	if err != nil {
		return lkepool.Observation{}, err
	}
	return joinByTag(pools, instances), nil
}

// mostNamed is how many pools a filter names. It goes in a header, and servers
// commonly allow 8 KB for all of those; beyond that all of the cluster's
// instances are read.
const mostNamed = 50

// Poll reads the instances of the pools. The counts stay as they were given.
func (e *enterprise) Poll(ctx context.Context, known []lkepool.Pool) ([]lkepool.Pool, error) {
	var ofPools []linode.Filter
	pools := make([]lkepool.Pool, 0, len(known))
	for _, pool := range known {
		ofPools = append(ofPools, linode.Where("tags").Equal(poolTagPrefix+strconv.Itoa(pool.ID)))
		pool.Members = nil
		pools = append(pools, pool)
	}
	if len(known) == 0 {
		return nil, nil
	}
	filter := linode.Where("tags").Equal(e.clusterTag())
	if len(known) <= mostNamed {
		filter = linode.And(filter, linode.Or(ofPools...))
	}
	instances, err := e.instances(ctx, filter)
	if err != nil {
		return nil, err
	}
	return joinByTag(pools, instances).Pools, nil
}

func joinByTag(pools []lkepool.Pool, instances []lkepool.Instance) lkepool.Observation {
	o := lkepool.Observation{Pools: pools}
	at := map[int]int{}
	nodes := map[int]string{}
	for i, pool := range pools {
		at[pool.ID] = i
		for _, slot := range pool.Slots {
			if slot.InstanceID != 0 {
				nodes[slot.InstanceID] = slot.NodeID
			}
		}
	}
	for _, instance := range instances {
		i, ok := at[instance.PoolID]
		if !ok {
			o.Loose = append(o.Loose, instance)
			continue
		}
		o.Pools[i].Members = append(o.Pools[i].Members, lkepool.Member{NodeID: nodes[instance.ID], Instance: instance})
	}
	return o
}

// Create names a version always, because the API's description requires it
// here: the cluster's own when the key leaves it open.
func (e *enterprise) Create(ctx context.Context, spec lkepool.PoolSpec) (lkepool.Pool, error) {
	version := spec.Key.Template.KubernetesVersion
	if version == "" {
		cluster, err := e.client.GetCluster(ctx, e.cluster.ID)
		if err != nil {
			return lkepool.Pool{}, e.unread("get cluster", err)
		}
		version = cluster.K8SVersion
	}
	return e.create(ctx, spec, version)
}
