package instance

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Cluster is the self-managed cluster that Linodes join.
type Cluster struct {
	Name   string // the labels of Linodes begin with the name
	Region string
}

// nodeName returns the name of a NodeClaim's node, which is the label of its Linode.
func (c Cluster) nodeName(nodeClaim string) string { return instances.Label(c.Name, nodeClaim) }

const newToken = "make a personal access token with the scope linodes:read_write and set LINODE_TOKEN to it"

// FindCluster checks that the cluster's region exists and that the token can make Linodes. Its errors are *options.Error, one line for
// the user.
func FindCluster(ctx context.Context, client *linode.Client, wanted discovery.Wanted) (Cluster, error) {
	_, err := client.GetRegion(ctx, wanted.Region)
	switch {
	case linode.KindOf(err) == linode.KindNotFound:
		return Cluster{}, &options.Error{Name: "CLUSTER_REGION", Found: fmt.Sprintf("Linode has no region %q", wanted.Region),
			Fix: "set it to the ID of a region, such as us-ord"}
	case err != nil:
		return Cluster{}, wanted.Explain(err, "linodes:read_only", "reading the region", newToken)
	}
	return Cluster{Name: wanted.Name, Region: wanted.Region},
		wanted.Check(ctx, client, wanted.Name+"-", newToken, "linodes:read_write")
}

// log writes the facts that a user compares after an installation.
func (c Cluster) log(logger logr.Logger) {
	logger.Info("instance mode: nodes are Linodes that join this cluster", "cluster", c.Name)
	logger.Info("the region of new Linodes", "region", c.Region)
}
