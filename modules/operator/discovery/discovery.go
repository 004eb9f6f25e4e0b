// Package discovery finds the LKE cluster that CLUSTER_NAME names, and checks that the token can do the work.
//
// Find is called once, at start, by cmd/controller, before anything is set up; its errors are
// *setting.Error, one line for the user. It makes no write to find out what the token may do: the cluster
// and one of its instances are read, and the scopes that the API reports with every answer are looked at.
// It does not retry beyond what the client does; the caller's context bounds it.
//
// A Tracker then keeps what can change while the controller runs, the control plane's version.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// Cluster is the LKE cluster that nodes are for: ID, name and tier as the claim engine needs them, and what else is used.
type Cluster struct {
	lke.Cluster
	Region  string
	Version string // of the control plane: 1.35 on Standard, v1.33.6+lke7 on Enterprise
}

// Wanted is the cluster to look for, and what for messages about it.
type Wanted struct {
	Name   string
	Region string        // if not empty, the region that the cluster must be in
	URL    string        // the API's address
	Scopes func() string // the token's scopes as the API has reported them; empty if it has not
	Needs  []string      // scopes that optional features take
}

// Find returns the one cluster with this label.
func Find(ctx context.Context, client *linode.Client, wanted Wanted) (Cluster, error) {
	var found api.LKECluster
	var ids []string
	for cluster, err := range client.ListClusters(ctx, linode.Where("label").Equal(wanted.Name)) {
		if err != nil {
			return Cluster{}, explain(err, wanted.URL, "lke:read_only", "reading LKE clusters", newToken)
		}
		if cluster.Label == wanted.Name { // whether the filter heeds case is not documented
			found, ids = cluster, append(ids, strconv.Itoa(cluster.ID))
		}
	}
	switch {
	case len(ids) == 0:
		return Cluster{}, &setting.Error{Name: "CLUSTER_NAME", Found: fmt.Sprintf("no LKE cluster of this account has the label %q", wanted.Name),
			Fix: "set it to the label of the cluster as the Cloud Manager shows it, and check that the token is of the same account"}
	case len(ids) > 1:
		return Cluster{}, &setting.Error{Name: "CLUSTER_NAME",
			Found: fmt.Sprintf("%d LKE clusters have the label %q (IDs %s)", len(ids), wanted.Name, strings.Join(ids, ", ")),
			Fix:   "rename all but one of them"}
	case found.Tier == nil && strings.Contains(found.K8SVersion, "+lke"):
		return Cluster{}, &setting.Error{Name: "LINODE_API_VERSION",
			Found: fmt.Sprintf("this version of the API hides that the cluster %q is an Enterprise one", found.Label),
			Fix:   "set it to v4beta, or leave it out"}
	case wanted.Region != "" && wanted.Region != found.Region:
		return Cluster{}, &setting.Error{Name: "CLUSTER_REGION",
			Found: fmt.Sprintf("set to %q, but the cluster %q is in %q", wanted.Region, found.Label, found.Region),
			Fix:   "leave it out: in lke mode it is discovered"}
	}
	tier := lke.Standard // the field exists on v4beta only, and so does the other tier
	if found.Tier != nil && *found.Tier != "" {
		tier = string(*found.Tier)
	}
	return Cluster{Cluster: lke.Cluster{ID: found.ID, Name: found.Label, Tier: tier}, Region: found.Region, Version: found.K8SVersion},
		check(ctx, client, wanted, fmt.Sprintf("lke%d-", found.ID), newToken, "lke:read_write", "linodes:read_write")
}

// FindRegion checks the region of a self-managed cluster, and that the token can make Linodes. There is no LKE cluster: the result has a
// name and a region alone.
func FindRegion(ctx context.Context, client *linode.Client, wanted Wanted) (Cluster, error) {
	_, err := client.GetRegion(ctx, wanted.Region)
	switch {
	case linode.KindOf(err) == linode.KindNotFound:
		return Cluster{}, &setting.Error{Name: "CLUSTER_REGION", Found: fmt.Sprintf("Linode has no region %q", wanted.Region),
			Fix: "set it to the ID of a region, such as us-ord"}
	case err != nil:
		return Cluster{}, explain(err, wanted.URL, "linodes:read_only", "reading the region", newInstanceToken)
	}
	return Cluster{Cluster: lke.Cluster{Name: wanted.Name}, Region: wanted.Region},
		check(ctx, client, wanted, wanted.Name+"-", newInstanceToken, "linodes:read_write")
}

// check reads instances with a text in their label, which needs a scope of its own, and refuses a token that lacks a scope. One answer is
// enough.
func check(ctx context.Context, client *linode.Client, wanted Wanted, label, token string, scopes ...string) error {
	next, stop := iter.Pull2(client.ListInstances(ctx, linode.Where("label").Contains(label)))
	defer stop()
	if _, err, _ := next(); err != nil {
		return explain(err, wanted.URL, "linodes:read_only", "reading Linodes", token)
	}
	return lacking(wanted.Scopes(), append(scopes, wanted.Needs...))
}

const (
	newToken         = "make a personal access token with the scopes lke:read_write and linodes:read_write and set LINODE_TOKEN to it"
	newInstanceToken = "make a personal access token with the scope linodes:read_write and set LINODE_TOKEN to it"
)

// explain turns an error of the API into what the user can do. token is how to make one that may do it.
func explain(err error, url, scope, doing, token string) error {
	switch linode.KindOf(err) {
	case linode.KindUnauthorized:
		var apiErr *linode.Error
		if errors.As(err, &apiErr) && apiErr.Status == 0 { // it could not be sent
			return &setting.Error{Name: "LINODE_TOKEN", Found: "no usable token", Err: apiErr.Err,
				Fix: "set it to a Linode personal access token, or LINODE_TOKEN_FILE to a file that holds one"}
		}
		return &setting.Error{Name: "LINODE_TOKEN", Found: "the Linode API at " + url + " refuses the token (401)", Fix: token}
	case linode.KindForbidden:
		return &setting.Error{Name: "LINODE_TOKEN",
			Found: "the token may not do what is needed (403 " + doing + ", which takes the scope " + scope + ")",
			Fix:   token}
	case linode.KindNotFound:
		return &setting.Error{Name: "LINODE_URL", Found: "there is no Linode API at " + url + " (404 " + doing + ")",
			Fix: "set LINODE_URL and LINODE_API_VERSION to the API's, or leave them out"}
	default:
		return &setting.Error{Name: "LINODE_URL", Found: "the Linode API at " + url + " gives no answer when " + doing, Err: err,
			Fix: "check the address, the network, and LINODE_CA if the API has a certificate of its own"}
	}
}
