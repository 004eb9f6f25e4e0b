package discovery

import (
	"context"
	"fmt"
	"iter"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// RegionAPI is what FindRegion reads; *linode.Client is one.
type RegionAPI interface {
	GetRegion(ctx context.Context, id string) (*api.Region, error)
	ListInstances(ctx context.Context, filter linode.Filter) iter.Seq2[api.Instance, error]
}

const newInstanceToken = "make a personal access token with the scope linodes:read_write and set LINODE_TOKEN to it"

// FindRegion checks the region of a self-managed cluster, and that the token can make Linodes. There is no LKE cluster: the result has a
// name and a region alone.
func FindRegion(ctx context.Context, client RegionAPI, wanted Wanted) (Cluster, error) {
	if _, err := client.GetRegion(ctx, wanted.Region); err != nil {
		if linode.KindOf(err) == linode.KindNotFound {
			return Cluster{}, &setting.Error{Name: "CLUSTER_REGION", Found: fmt.Sprintf("Linode has no region %q", wanted.Region), Fix: "set it to the ID of a region, such as us-ord"}
		}
		return Cluster{}, explain(err, wanted.URL, "linodes:read_only", "reading the region", newInstanceToken)
	}
	if err := checkInstances(ctx, client, wanted.Name+"-"); err != nil {
		return Cluster{}, explain(err, wanted.URL, "linodes:read_only", "reading Linodes", newInstanceToken)
	}
	return Cluster{Cluster: lke.Cluster{Name: wanted.Name}, Region: wanted.Region}, lacking(wanted.Scopes(), append([]string{"linodes:read_write"}, wanted.Needs...))
}
