package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// UpdateLKECluster changes a cluster. A new version must be newer and of the cluster's tier. It is the version of the
// control plane: pools of the Enterprise tier keep their version, and nodes of the Standard tier get the new version
// when they are made.
func (w Clusters) UpdateLKECluster(clusterID int, b *api.LKEClusterUpdate) (api.LKECluster, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return api.LKECluster{}, err
	}
	plane := deref(b.ControlPlane)
	if err := w.checkClusterUpdate(c, b, plane); err != nil {
		return api.LKECluster{}, err
	}
	if v := b.K8SVersion; v != nil && *v != c.K8sVersion {
		w.record(w.Actor, account.Entry{Action: account.ClusterUpgraded, ClusterID: c.ID, Before: c.K8sVersion, After: *v})
		c.K8sVersion, c.Updated = *v, w.now
	}
	if b.Tags != nil {
		w.retagCluster(c, union(*b.Tags))
	}
	before := c.Cluster
	set(&c.Label, b.Label)
	set(&c.HighAvailability, plane.HighAvailability)
	set(&c.AuditLogs, plane.AuditLogsEnabled)
	if before.Label != c.Label || before.HighAvailability != c.HighAvailability || before.AuditLogs != c.AuditLogs {
		w.record(w.Actor, account.Entry{Action: account.ClusterEdited, ClusterID: c.ID, Before: before.Label, After: c.Label})
		c.Updated = w.now
	}
	if plane.ACL != nil {
		w.setACL(c, *plane.ACL)
	}
	return w.cluster(c), nil
}

func (w Clusters) checkClusterUpdate(c *cluster, b *api.LKEClusterUpdate, plane api.LKEControlPlaneCreate) error {
	var bad reasons
	if b.Label != nil {
		checkLength(&bad, "label", *b.Label, 1, 32)
	}
	if v := b.K8SVersion; v != nil {
		versions := w.Offers().versions(c.Tier)
		switch at := slices.Index(versions, *v); {
		case at < 0:
			bad.invalid("k8s_version")
		case at > slices.Index(versions, c.K8sVersion):
			bad.add("k8s_version", "A cluster cannot be downgraded from %s to %s", c.K8sVersion, *v)
		}
	}
	checkTags(&bad, deref(b.Tags))
	if h := plane.HighAvailability; h != nil && !*h && c.HighAvailability {
		bad.add("control_plane.high_availability", "High availability cannot be turned off")
	}
	if deref(plane.AuditLogsEnabled) && c.Tier != catalog.Enterprise {
		bad.enterpriseOnly("control_plane.audit_logs_enabled")
	}
	if plane.ACL != nil {
		checkACL(&bad, "control_plane.acl", *plane.ACL)
	}
	return bad.err()
}

// RecycleLKECluster replaces all nodes, pool by pool.
func (w Clusters) RecycleLKECluster(clusterID int) error {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return err
	}
	var all []*node
	for _, p := range c.pools {
		all = append(all, p.nodes...)
	}
	w.Pools().recycleNext(w.Actor, all)
	return nil
}

// RegenerateLKECluster replaces the kubeconfig or the service token of a cluster.
func (w Clusters) RegenerateLKECluster(clusterID int, b *api.LKEClusterRegenerate) error {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return err
	}
	if deref(b.Kubeconfig) {
		c.KubeconfigSerial++
		w.record(w.Actor, account.Entry{Action: account.ClusterEdited, ClusterID: c.ID, After: fmt.Sprintf("kubeconfig %d", c.KubeconfigSerial)})
	}
	if deref(b.Servicetoken) {
		c.TokenSerial++
		w.record(w.Actor, account.Entry{Action: account.ClusterEdited, ClusterID: c.ID, After: fmt.Sprintf("service token %d", c.TokenSerial)})
	}
	return nil
}

// DeleteLKEClusterKubeconfig makes a new kubeconfig.
func (w Clusters) DeleteLKEClusterKubeconfig(clusterID int) error {
	return w.RegenerateLKECluster(clusterID, &api.LKEClusterRegenerate{Kubeconfig: new(true)})
}

// DeleteLKEClusterServiceToken makes a new service token.
func (w Clusters) DeleteLKEClusterServiceToken(clusterID int) error {
	return w.RegenerateLKECluster(clusterID, &api.LKEClusterRegenerate{Servicetoken: new(true)})
}

// withoutACL is the ACL that lets every network reach a control plane. The simulator filters nothing, whatever the ACL.
func withoutACL() api.LKEControlPlaneACL {
	return overlaid[api.LKEControlPlaneACL](json.RawMessage(`{"enabled": false, "addresses": {"ipv4": [], "ipv6": []}}`))
}

// GetLKEControlPlaneACL returns the networks that may reach a control plane.
func (w Clusters) GetLKEControlPlaneACL(clusterID int) (api.LKEControlPlaneACLEnvelope, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return api.LKEControlPlaneACLEnvelope{}, err
	}
	return api.LKEControlPlaneACLEnvelope{ACL: c.ACL}, nil
}

// UpdateLKEControlPlaneACL replaces the networks.
func (w Clusters) UpdateLKEControlPlaneACL(clusterID int, b *api.LKEControlPlaneACLEnvelope) (api.LKEControlPlaneACLEnvelope, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return api.LKEControlPlaneACLEnvelope{}, err
	}
	var bad reasons
	checkACL(&bad, "acl", b.ACL)
	if err := bad.err(); err != nil {
		return api.LKEControlPlaneACLEnvelope{}, err
	}
	w.setACL(c, b.ACL)
	return api.LKEControlPlaneACLEnvelope{ACL: c.ACL}, nil
}

// DeleteLKEControlPlaneACL lets every network reach the control plane again.
func (w Clusters) DeleteLKEControlPlaneACL(clusterID int) error {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return err
	}
	c.ACL = withoutACL()
	w.record(w.Actor, account.Entry{Action: account.ClusterEdited, ClusterID: c.ID, After: "acl none"})
	return nil
}

// setACL stores addresses as networks, and makes up a revision if none is given.
func (w Clusters) setACL(c *cluster, acl api.LKEControlPlaneACL) {
	acl = overlaid[api.LKEControlPlaneACL](withoutACL(), acl)
	for _, list := range []*[]string{acl.Addresses.IPv4, acl.Addresses.IPv6} {
		*list = each(*list, func(text string) string { return network(text).String() })
	}
	revision := cmp.Or(deref(acl.RevisionID), fmt.Sprintf("%016x%016x", w.draws.side.Uint64(), w.draws.side.Uint64()))
	acl.RevisionID = &revision
	c.ACL = acl
	w.record(w.Actor, account.Entry{Action: account.ClusterEdited, ClusterID: c.ID, After: "acl " + revision})
}

func checkACL(bad *reasons, at string, acl api.LKEControlPlaneACL) {
	addresses := deref(acl.Addresses)
	for n, text := range deref(addresses.IPv4) {
		if !network(text).Addr().Is4() {
			bad.add(fmt.Sprintf("%s.addresses.ipv4[%d]", at, n), "Must be an ipv4 address or network")
		}
	}
	for n, text := range deref(addresses.IPv6) {
		if !network(text).Addr().Is6() {
			bad.add(fmt.Sprintf("%s.addresses.ipv6[%d]", at, n), "Must be an ipv6 address or network")
		}
	}
}

// network reads an address or a network; any other text is the zero Prefix.
func network(text string) netip.Prefix {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	p, _ := netip.ParsePrefix(text)
	return p
}
