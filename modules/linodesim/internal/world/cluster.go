package world

import (
	"cmp"
	"slices"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// AddCluster makes a cluster with its pools, if any. Clients can reach its control plane at once.
func (w Clusters) AddCluster(spec account.ClusterSpec) (account.Cluster, error) {
	c, err := w.addCluster(spec, false)
	if err != nil {
		return account.Cluster{}, err
	}
	return c.state(), nil
}

// addCluster makes a cluster. A cluster that hangs waits until the account's VPC limit has room for its VPC.
func (w Clusters) addCluster(spec account.ClusterSpec, hangs bool) (*cluster, error) {
	spec.Region, spec.Tier = cmp.Or(spec.Region, "us-ord"), cmp.Or(spec.Tier, catalog.Standard)
	if versions := w.Offers().versions(spec.Tier); len(versions) > 0 {
		spec.K8sVersion = cmp.Or(spec.K8sVersion, versions[0])
	}
	if err := w.checkCluster(spec); err != nil {
		return nil, err
	}
	c := &cluster{Cluster: account.Cluster{
		ID: w.nextID(&w.seq.cluster), Label: spec.Label, Region: spec.Region, Tier: spec.Tier, K8sVersion: spec.K8sVersion,
		ControlPlane: account.ControlPlane{
			// High availability was on in every recorded Enterprise cluster.
			HighAvailability: spec.Tier == catalog.Enterprise || spec.HighAvailability,
			AuditLogs:        spec.AuditLogs, AppPlatform: spec.AppPlatform, Reachable: w.now, ACL: withoutACL(),
		},
		ClusterNetwork: account.ClusterNetwork{StackType: spec.StackType, VPCID: spec.VPCID, SubnetID: spec.SubnetID},
		Tags:           nonNil(slices.Clone(spec.Tags)), Lifecycle: account.Lifecycle{Created: w.now, Updated: w.now},
	}, addressed: w.now, hangs: hangs}
	for i, p := range spec.Pools {
		if err := w.Pools().checkPoolCreate(c, p); err != nil {
			return nil, prefixed(err, "node_pools", i)
		}
	}
	w.clusters[c.ID] = c
	w.record(w.Actor, account.Entry{Action: account.ClusterCreated, ClusterID: c.ID, After: c.Label})
	if spec.ACL != nil {
		w.setACL(c, *spec.ACL)
	}
	delays := w.delays
	if spec.Settled {
		w.delays = Delays{}
	}
	for _, p := range spec.Pools {
		w.Pools().addPool(c, p)
	}
	w.delays = delays
	return c, nil
}

func (w Clusters) checkCluster(spec account.ClusterSpec) error {
	var bad reasons
	checkLength(&bad, "label", spec.Label, 1, 32)
	capability := catalog.CapKubernetes
	switch spec.Tier {
	case catalog.Standard:
	case catalog.Enterprise:
		capability = catalog.CapKubernetesEnterprise
	default:
		bad.invalid("tier")
		return bad.err()
	}
	w.Offers().checkRegion(&bad, spec.Region, capability, capability+" is")
	if !slices.Contains(w.Offers().versions(spec.Tier), spec.K8sVersion) {
		bad.invalid("k8s_version")
	}
	checkTags(&bad, spec.Tags)
	if spec.ACL != nil {
		checkACL(&bad, "control_plane.acl", *spec.ACL)
	}
	return bad.err()
}

// ListLKEClusters lists them by ID.
func (w Clusters) ListLKEClusters() ([]api.LKECluster, error) {
	return each(sorted(w.clusters), w.cluster), nil
}

// GetLKECluster finds one.
func (w Clusters) GetLKECluster(clusterID int) (api.LKECluster, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return api.LKECluster{}, err
	}
	return w.cluster(c), nil
}

// cluster returns a cluster as the API shows it. vpc_id and subnet_id are shown when the cluster has a VPC; recorded
// Enterprise clusters showed no VPC. audit_logs_enabled came with answers of 2026.
func (w Clusters) cluster(c *cluster) api.LKECluster {
	out := api.LKECluster{
		ID: c.ID, Label: c.Label, Region: c.Region, K8SVersion: c.K8sVersion, Status: "ready", Tags: nonNil(c.Tags), AplEnabled: c.AppPlatform,
		ControlPlane: api.LKEControlPlane{HighAvailability: c.HighAvailability},
		Created:      api.Time{Time: c.Created}, Updated: api.Time{Time: c.Updated},
	}
	if !w.Beta {
		return out
	}
	out.Tier, out.Locks, out.StackType = new(api.LKETier(c.Tier)), &noLocks, optional(api.LKEClusterStackType(c.StackType))
	if c.Tier == catalog.Enterprise {
		out.ControlPlane.AuditLogsEnabled = new(c.AuditLogs)
	}
	if c.VPCID != 0 {
		out.VPCID, out.SubnetID = numberOrNull(&c.VPCID), numberOrNull(optional(c.SubnetID))
	}
	return out
}

// numberOrNull returns a field that is always sent: the number, or null if n is nil.
func numberOrNull(n *int) nullable.Nullable[int] {
	if n == nil {
		return nullable.NewNullNullable[int]()
	}
	return nullable.NewNullableWithValue(*n)
}

func (c *cluster) state() account.Cluster {
	out := cloneCluster(c.Cluster)
	out.Pools = each(c.pools, (*pool).state)
	return out
}

func (p *pool) state() account.Pool {
	out := clonePool(p.Pool)
	out.Nodes = each(p.nodes, func(n *node) account.Node { return n.Node })
	return out
}

// Snapshot copies everything.
func (w *Moment) Snapshot() account.State {
	return account.State{
		At: w.now, Clusters: each(sorted(w.clusters), (*cluster).state), Instances: each(sorted(w.instances), (*Instance).state),
	}
}
