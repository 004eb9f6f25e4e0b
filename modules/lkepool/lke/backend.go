package lke

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Tiers of LKE.
const (
	Standard   = string(api.LKETierStandard)
	Enterprise = string(api.LKETierEnterprise)
)

// Cluster names the cluster whose pools are used.
type Cluster struct {
	ID   int
	Name string
	Tier string
}

// New returns the backend for a cluster. It makes no request.
func New(client *linode.Client, cluster Cluster) (lkepool.Backend, error) {
	refuse := func(field, format string, args ...any) error {
		return &claims.Error{Kind: claims.KindInvalid, Op: "configure", Field: field, Err: fmt.Errorf(format, args...)}
	}
	if client == nil {
		return nil, refuse("client", "is nil")
	}
	if cluster.ID <= 0 {
		return nil, refuse("Cluster.ID", "%d is not a cluster ID", cluster.ID)
	}
	b := base{client: client, cluster: cluster}
	switch cluster.Tier {
	case Standard:
		return &standard{base: b}, nil
	case Enterprise:
		return &enterprise{base: b}, nil
	}
	return nil, refuse("Cluster.Tier", "%q must be %s or %s", cluster.Tier, Standard, Enterprise)
}

// base holds what both tiers share.
type base struct {
	client  *linode.Client
	cluster Cluster
}

// clusterTag is the tag that LKE puts on Enterprise workers.
func (b *base) clusterTag() string { return "lke" + strconv.Itoa(b.cluster.ID) }

const poolTagPrefix = "nodepool="

// ReservedTag reports whether LKE sets the tag itself.
func (b *base) ReservedTag(tag string) bool {
	return tag == b.clusterTag() || strings.HasPrefix(tag, poolTagPrefix)
}

// Pools sends no filter: it is not known whether the pool list honours X-Filter.
// The engine also needs the pools of other owners, to recognise their nodes.
func (b *base) Pools(ctx context.Context) ([]lkepool.Pool, error) {
	var pools []lkepool.Pool
	for pool, err := range b.client.ListPools(ctx, b.cluster.ID, linode.Filter{}) {
		if err != nil {
			return nil, b.unlisted("list pools", err)
		}
		pools = append(pools, poolOf(pool))
	}
	return pools, nil
}

func (b *base) instances(ctx context.Context, filter linode.Filter) ([]lkepool.Instance, error) {
	var instances []lkepool.Instance
	for instance, err := range b.client.ListInstances(ctx, filter) {
		if err != nil {
			return nil, b.unlisted("list instances", err)
		}
		if i := b.instanceOf(instance); !i.Foreign {
			instances = append(instances, i)
		}
	}
	return instances, nil
}

func (b *base) Pool(ctx context.Context, id int) (lkepool.Pool, error) {
	pool, err := b.client.GetPool(ctx, b.cluster.ID, id)
	if err != nil {
		return lkepool.Pool{}, failed("get pool", id, err)
	}
	return poolOf(*pool), nil
}

func (b *base) Instance(ctx context.Context, id int) (lkepool.Instance, error) {
	instance, err := b.client.GetInstance(ctx, id)
	if err != nil {
		return lkepool.Instance{}, failed("get instance", 0, err)
	}
	return b.instanceOf(*instance), nil
}

func (b *base) Scale(ctx context.Context, poolID, count int) (lkepool.Pool, error) {
	pool, err := b.client.UpdatePool(inTime(ctx), b.cluster.ID, poolID, api.LKENodePoolUpdate{Count: &count})
	if err != nil {
		return lkepool.Pool{}, b.refused("scale pool", poolID, err)
	}
	return poolOf(*pool), nil
}

func (b *base) Mark(ctx context.Context, instanceID int, tags []string) (lkepool.Instance, error) {
	instance, err := b.client.UpdateInstance(inTime(ctx), instanceID, api.InstanceUpdate{Tags: &tags})
	if err != nil {
		return lkepool.Instance{}, failed("tag instance", 0, err)
	}
	return b.instanceOf(*instance), nil
}

func (b *base) TagPool(ctx context.Context, poolID int, tags []string) (lkepool.Pool, error) {
	pool, err := b.client.UpdatePool(inTime(ctx), b.cluster.ID, poolID, api.LKENodePoolUpdate{Tags: &tags})
	if err != nil {
		return lkepool.Pool{}, failed("tag pool", poolID, err)
	}
	return poolOf(*pool), nil
}

func (b *base) Remove(ctx context.Context, poolID int, nodeID string) error {
	return removed("remove node", poolID, b.client.DeleteNode(inTime(ctx), b.cluster.ID, nodeID))
}

func (b *base) Drop(ctx context.Context, poolID int) error {
	return removed("delete pool", poolID, b.client.DeletePool(inTime(ctx), b.cluster.ID, poolID))
}

func (b *base) create(ctx context.Context, spec lkepool.PoolSpec, version string) (lkepool.Pool, error) {
	pool, err := b.client.CreatePool(inTime(ctx), b.cluster.ID, b.creation(spec, version))
	if err != nil {
		return lkepool.Pool{}, b.refused("create pool", 0, err)
	}
	return poolOf(*pool), nil
}

// inTime passes the time until which a write may be sent on to the client.
func inTime(ctx context.Context) context.Context {
	if before, bounded := lkepool.SendBefore(ctx); bounded {
		return linode.SendBefore(ctx, before)
	}
	return ctx
}
