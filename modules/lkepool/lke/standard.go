package lke

import (
	"context"
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// standard finds members through the pools' node lists.
type standard struct{ base }

// standardPoolSize is in Linode's documentation, and in the API's description.
const standardPoolSize = 100

func (s *standard) Limits() lkepool.Limits { return lkepool.Limits{PoolSize: standardPoolSize} }

func (s *standard) Check(key lkepool.Key) error {
	if id := key.Template.FirewallID; id != 0 {
		return invalid("Key.Template.FirewallID", "%d: only pools of LKE Enterprise have a firewall", id)
	}
	if version := key.Template.KubernetesVersion; version != "" {
		return invalid("Key.Template.KubernetesVersion", "%q: pools of LKE Standard follow the version of the cluster", version)
	}
	return checkTemplate(key.Template)
}

// Instances lists the cluster's workers. Their labels begin with lke<cluster>-
// (recorded). A renamed worker is missing; the engine finds it by its ID. The
// filter "contains" may also match instances of other clusters, which are left
// out.
func (s *standard) Instances(ctx context.Context) ([]lkepool.Instance, error) {
	return s.instances(ctx, linode.Where("label").Contains(fmt.Sprintf("lke%d-", s.cluster.ID)))
}

func (s *standard) Create(ctx context.Context, spec lkepool.PoolSpec) (lkepool.Pool, error) {
	return s.create(ctx, spec, "")
}
