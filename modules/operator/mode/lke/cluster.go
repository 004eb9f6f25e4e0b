package lke

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-logr/logr"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Cluster is the LKE cluster in which nodes are made: ID, name and tier for the claim engine, and further facts.
type Cluster struct {
	lke.Cluster
	Region  string
	Version string // of the control plane: 1.35 on Standard, v1.33.6+lke7 on Enterprise
}

const newToken = "make a personal access token with the scopes lke:read_write and linodes:read_write and set LINODE_TOKEN to it"

// needed are the scopes that the token must have to make nodes.
var needed = []string{"lke:read_write", "linodes:read_write"}

// FindCluster returns the one cluster with this label. Its errors are *options.Error, one line for the user.
func FindCluster(ctx context.Context, client *linode.Client, wanted discovery.Wanted) (Cluster, error) {
	var found api.LKECluster
	var ids []string
	for cluster, err := range client.ListClusters(ctx, linode.Where("label").Equal(wanted.Name)) {
		if err != nil {
			return Cluster{}, wanted.Explain(err, "lke:read_only", "reading LKE clusters", newToken)
		}
		if cluster.Label == wanted.Name { // whether the filter heeds case is not documented
			found, ids = cluster, append(ids, strconv.Itoa(cluster.ID))
		}
	}
	switch {
	case len(ids) == 0:
		return Cluster{}, absent(ctx, client, wanted.Name)
	case len(ids) > 1:
		return Cluster{}, &options.Error{Name: "CLUSTER_NAME",
			Found: fmt.Sprintf("%d LKE clusters have the label %q (IDs %s)", len(ids), wanted.Name, strings.Join(ids, ", ")),
			Fix:   "rename all but one of them"}
	case found.Tier == nil && strings.Contains(found.K8SVersion, "+lke"):
		return Cluster{}, &options.Error{Name: "LINODE_API_VERSION",
			Found: fmt.Sprintf("this version of the API hides that the cluster %q is an Enterprise one", found.Label),
			Fix:   "set it to v4beta, or leave it out"}
	case wanted.Region != "" && wanted.Region != found.Region:
		return Cluster{}, &options.Error{Name: "CLUSTER_REGION",
			Found: fmt.Sprintf("set to %q, but the cluster %q is in %q", wanted.Region, found.Label, found.Region),
			Fix:   "leave it out: in lke mode the operator discovers it"}
	}
	tier := lke.Standard // the field exists on v4beta only, and so does the other tier
	if found.Tier != nil && *found.Tier != "" {
		tier = string(*found.Tier)
	}
	return Cluster{Cluster: lke.Cluster{ID: found.ID, Name: found.Label, Tier: tier}, Region: found.Region, Version: found.K8SVersion},
		wanted.Check(ctx, client, fmt.Sprintf("lke%d-", found.ID), newToken, needed...)
}

// absent returns the error for a cluster that was not found. A restricted user sees only clusters for which the user has a role.
func absent(ctx context.Context, client *linode.Client, name string) error {
	const fix = "set it to the label of the cluster as the Cloud Manager shows it, and "
	if user := discovery.RestrictedUser(ctx, client); user != "" {
		return &options.Error{Name: "CLUSTER_NAME",
			Found: fmt.Sprintf("no LKE cluster that the token's user %s may see has the label %q, and the user is restricted to its roles",
				user, name),
			Fix: fix + "give the user the roles " + strings.Join(discovery.Roles(needed...), " and ")}
	}
	return &options.Error{Name: "CLUSTER_NAME", Found: fmt.Sprintf("no LKE cluster of this account has the label %q", name),
		Fix: fix + "check that the token is of the same account"}
}

// log writes the facts that a user compares after an installation.
func (c Cluster) log(logger logr.Logger) {
	logger.Info("discovered the LKE cluster", "cluster", c.Name, "id", c.ID)
	logger.Info("the LKE cluster's tier", "tier", c.Tier)
	logger.Info("the LKE cluster's region", "region", c.Region)
	logger.Info("the LKE cluster's version", "version", c.Version)
}
