package lke

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// enterprise finds members through the tags that LKE puts on its workers.
type enterprise struct{ base }

// enterprisePoolSize follows the limit of Cloud Manager; the API's description still
// has 100 for both tiers.
const enterprisePoolSize = 500

func (e *enterprise) Limits() lkepool.Limits {
	return lkepool.Limits{PoolSize: enterprisePoolSize, NodesLag: true}
}

func (e *enterprise) Check(key lkepool.Key) error { return checkTemplate(key.Template) }

// Instances lists the instances that carry the tag of the cluster.
func (e *enterprise) Instances(ctx context.Context) ([]lkepool.Instance, error) {
	return e.instances(ctx, linode.Where("tags").Equal(e.clusterTag()))
}

// Create always names a version, because the API's description requires it on
// Enterprise. If the key has no version, Create names the version of the
// cluster.
func (e *enterprise) Create(ctx context.Context, spec lkepool.PoolSpec) (lkepool.Pool, error) {
	version := spec.Key.Template.KubernetesVersion
	if version == "" {
		cluster, err := e.client.GetCluster(ctx, e.cluster.ID)
		if err != nil {
			return lkepool.Pool{}, unread("get cluster", err)
		}
		version = cluster.K8SVersion
	}
	return e.create(ctx, spec, version)
}
