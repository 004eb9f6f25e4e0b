package handlers

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) createLKECluster(b *api.LKEClusterCreate) (api.LKECluster, error) {
	spec := world.ClusterSpec{
		Label: b.Label, Region: b.Region, Tier: catalog.Standard, K8sVersion: b.K8SVersion, Tags: value(b.Tags),
		AppPlatform: value(b.AplEnabled), StackType: string(value(b.StackType)), VPCID: value(b.VPCID), SubnetID: value(b.SubnetID),
	}
	if b.Tier != nil {
		spec.Tier = string(*b.Tier)
	}
	if c := b.ControlPlane; c != nil {
		spec.HighAvailability, spec.AuditLogs = value(c.HighAvailability), value(c.AuditLogsEnabled)
		spec.ACL = newACL(c.ACL)
	}
	for n, p := range b.NodePools {
		made, err := poolCreate(p)
		if err != nil {
			return api.LKECluster{}, world.Prefixed(err, "node_pools", n)
		}
		spec.Pools = append(spec.Pools, made)
	}
	if spec.Region == "" {
		return api.LKECluster{}, refusal("region", "region is not valid")
	}
	if spec.K8sVersion == "" {
		return api.LKECluster{}, refusal("k8s_version", "k8s_version is not valid")
	}
	c, err := r.Live.CreateCluster(r.Actor, spec)
	if err != nil {
		return api.LKECluster{}, err
	}
	return cluster(c, r.Beta), nil
}

func (r Request) updateLKECluster(clusterID int, b *api.LKEClusterUpdate) (api.LKECluster, error) {
	change := world.ClusterUpdate{Label: b.Label, K8sVersion: b.K8SVersion, Tags: b.Tags}
	if c := b.ControlPlane; c != nil {
		change.HighAvailability, change.AuditLogs, change.ACL = c.HighAvailability, c.AuditLogsEnabled, newACL(c.ACL)
	}
	c, err := r.Live.UpdateCluster(r.Actor, clusterID, change)
	return cluster(c, r.Beta), err
}

func newACL(given *api.LKEControlPlaneACL) *world.ACL {
	if given == nil {
		return nil
	}
	out := world.ACL{Enabled: value(given.Enabled), Revision: value(given.RevisionID)}
	if a := given.Addresses; a != nil {
		out.IPv4, out.IPv6 = value(a.IPv4), value(a.IPv6)
	}
	return &out
}

func acl(a world.ACL) api.LKEControlPlaneACLEnvelope {
	v4, v6 := nonNil(a.IPv4), nonNil(a.IPv6)
	out := api.LKEControlPlaneACL{Enabled: &a.Enabled, RevisionID: optional(a.Revision)}
	out.Addresses = &struct {
		IPv4 *[]string `json:"ipv4,omitempty"`
		IPv6 *[]string `json:"ipv6,omitempty"`
	}{&v4, &v6}
	return api.LKEControlPlaneACLEnvelope{ACL: out}
}

func (r Request) getLKEControlPlaneACL(clusterID int) (api.LKEControlPlaneACLEnvelope, error) {
	return one(acl)(r.Seen.ControlPlaneACL(clusterID))
}

func (r Request) updateLKEControlPlaneACL(clusterID int, b *api.LKEControlPlaneACLEnvelope) (api.LKEControlPlaneACLEnvelope, error) {
	return one(acl)(r.Live.SetControlPlaneACL(r.Actor, clusterID, *newACL(&b.ACL)))
}

func (r Request) deleteLKEControlPlaneACL(clusterID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteControlPlaneACL(r.Actor, clusterID)
}

func (r Request) recycleLKECluster(clusterID int) (api.Empty, error) {
	return api.Empty{}, r.Live.RecycleCluster(r.Actor, clusterID)
}

func (r Request) regenerateLKECluster(clusterID int, b *api.LKEClusterRegenerate) (api.Empty, error) {
	return api.Empty{}, r.Live.Regenerate(r.Actor, clusterID, value(b.Kubeconfig), value(b.Servicetoken))
}

func (r Request) deleteLKEClusterKubeconfig(clusterID int) (api.Empty, error) {
	return api.Empty{}, r.Live.Regenerate(r.Actor, clusterID, true, false)
}

func (r Request) deleteLKEClusterServiceToken(clusterID int) (api.Empty, error) {
	return api.Empty{}, r.Live.Regenerate(r.Actor, clusterID, false, true)
}

func (r Request) deleteLKECluster(clusterID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteCluster(r.Actor, clusterID)
}

func (r Request) listLKEClusterAPIEndpoints(clusterID int) (page[api.LKEClusterAPIEndpoint], error) {
	found, err := r.Seen.Endpoints(clusterID)
	if err != nil {
		return page[api.LKEClusterAPIEndpoint]{}, err
	}
	return list(r, found, func(e string) api.LKEClusterAPIEndpoint { return api.LKEClusterAPIEndpoint{Endpoint: e} })
}

func (r Request) getLKEClusterKubeconfig(clusterID int) (api.LKEKubeconfig, error) {
	found, err := r.Seen.Kubeconfig(clusterID)
	if err != nil {
		return api.LKEKubeconfig{}, err
	}
	return api.LKEKubeconfig{Kubeconfig: found}, nil
}

func (r Request) recycleLKENodePool(clusterID int, poolID int) (api.Empty, error) {
	return api.Empty{}, r.Live.RecyclePool(r.Actor, clusterID, poolID)
}

func (r Request) recycleLKENode(clusterID int, nodeID string) (api.Empty, error) {
	return api.Empty{}, r.Live.RecycleNode(r.Actor, clusterID, nodeID)
}

func (r Request) listLKEVersions() (page[api.LKEVersion], error) {
	return list(r, r.Seen.Catalog().Versions(catalog.Standard), func(v string) api.LKEVersion { return api.LKEVersion{ID: v} })
}

func (r Request) getLKEVersion(version string) (api.LKEVersion, error) {
	if !r.Seen.Catalog().HasVersion(catalog.Standard, version) {
		return api.LKEVersion{}, notFound()
	}
	return api.LKEVersion{ID: version}, nil
}

func (r Request) listLKETypes() (page[api.LKEType], error) {
	return list(r, r.Seen.Catalog().ControlPlanes, controlPlane)
}

func controlPlane(c catalog.ControlPlane) api.LKEType {
	return api.LKEType{
		ID: c.ID, Label: c.Label, Price: api.LKETypePrice{Hourly: c.Price.Hourly, Monthly: c.Price.Monthly}, RegionPrices: prices(c.RegionPrices),
	}
}
