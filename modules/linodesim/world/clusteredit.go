package world

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// ClusterUpdate changes a cluster; nil fields keep their value.
type ClusterUpdate struct {
	Label, K8sVersion           *string
	Tags                        *[]string
	HighAvailability, AuditLogs *bool
	ACL                         *ACL
}

// ACL is the networks that may reach a control plane. Nothing is filtered.
type ACL struct {
	Enabled    bool
	Revision   string // "" = none was ever given
	IPv4, IPv6 []string
}

// UpdateCluster changes a cluster. A version can only become a newer one of its
// tier, and is the control plane's: pools of the Enterprise tier keep theirs,
// nodes of the Standard tier get the new one when they are made.
func (w *World) UpdateCluster(by Actor, id int, change ClusterUpdate) (Cluster, error) {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return Cluster{}, notFound()
	}
	if err := w.checkClusterUpdate(c, change); err != nil {
		return Cluster{}, err
	}
	if v := change.K8sVersion; v != nil && *v != c.K8sVersion {
		w.record(by, Entry{Action: ClusterUpgraded, ClusterID: id, Before: c.K8sVersion, After: *v})
		c.K8sVersion, c.Updated = *v, w.now
	}
	if change.Tags != nil {
		w.retagCluster(by, c, union(*change.Tags))
	}
	before := c.Cluster
	set(&c.Label, change.Label)
	set(&c.HighAvailability, change.HighAvailability)
	set(&c.AuditLogs, change.AuditLogs)
	if before.Label != c.Label || before.HighAvailability != c.HighAvailability || before.AuditLogs != c.AuditLogs {
		w.record(by, Entry{Action: ClusterEdited, ClusterID: id, Before: before.Label, After: c.Label})
		c.Updated = w.now
	}
	if change.ACL != nil {
		w.setACL(by, c, *change.ACL)
	}
	return w.clusterState(c), nil
}

func (w *World) checkClusterUpdate(c *cluster, change ClusterUpdate) error {
	var bad reasons
	if l := change.Label; l != nil && (len(*l) < 1 || len(*l) > 32) {
		bad.add("label", "Length must be 1-32 characters")
	}
	if v := change.K8sVersion; v != nil {
		versions := w.catalog.Versions(c.Tier) // newest first
		switch at := slices.Index(versions, *v); {
		case at < 0:
			bad.add("k8s_version", "k8s_version is not valid")
		case at > slices.Index(versions, c.K8sVersion):
			bad.add("k8s_version", "A cluster cannot be downgraded from %s to %s", c.K8sVersion, *v)
		}
	}
	checkTags(&bad, deref(change.Tags))
	if h := change.HighAvailability; h != nil && !*h && c.HighAvailability {
		bad.add("control_plane.high_availability", "High availability cannot be turned off")
	}
	if deref(change.AuditLogs) && c.Tier != catalog.Enterprise {
		bad.add("control_plane.audit_logs_enabled", "control_plane.audit_logs_enabled is only available for LKE Enterprise clusters")
	}
	if change.ACL != nil {
		change.ACL.check(&bad, "control_plane.acl")
	}
	return bad.err()
}

// RecycleCluster replaces all nodes, pool by pool.
func (w *World) RecycleCluster(by Actor, id int) error {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return notFound()
	}
	var all []*node
	for _, p := range c.pools {
		all = append(all, p.nodes...)
	}
	w.recycleNext(by, all)
	return nil
}

// Regenerate makes kubeconfig or service token of a cluster anew.
func (w *World) Regenerate(by Actor, id int, kubeconfig, serviceToken bool) error {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return notFound()
	}
	if kubeconfig {
		c.KubeconfigSerial++
		w.record(by, Entry{Action: ClusterEdited, ClusterID: id, After: fmt.Sprintf("kubeconfig %d", c.KubeconfigSerial)})
	}
	if serviceToken {
		c.TokenSerial++
		w.record(by, Entry{Action: ClusterEdited, ClusterID: id, After: fmt.Sprintf("service token %d", c.TokenSerial)})
	}
	return nil
}

// ControlPlaneACL gives the networks that may reach a control plane.
func (w *World) ControlPlaneACL(id int) (ACL, error) {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return ACL{}, notFound()
	}
	return c.ACL, nil
}

// SetControlPlaneACL replaces them.
func (w *World) SetControlPlaneACL(by Actor, id int, acl ACL) (ACL, error) {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return ACL{}, notFound()
	}
	var bad reasons
	if acl.check(&bad, "acl"); len(bad) > 0 {
		return ACL{}, bad.err()
	}
	w.setACL(by, c, acl)
	return c.ACL, nil
}

// DeleteControlPlaneACL lets every network reach the control plane again.
func (w *World) DeleteControlPlaneACL(by Actor, id int) error {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return notFound()
	}
	c.ACL = ACL{}
	w.record(by, Entry{Action: ClusterEdited, ClusterID: id, After: "acl none"})
	return nil
}

// setACL stores addresses as networks, and makes up a revision if none is given.
func (w *World) setACL(by Actor, c *cluster, acl ACL) {
	acl.IPv4, acl.IPv6 = networks(acl.IPv4), networks(acl.IPv6)
	if acl.Revision == "" {
		acl.Revision = fmt.Sprintf("%016x%016x", w.side.Uint64(), w.side.Uint64())
	}
	c.ACL = acl
	w.record(by, Entry{Action: ClusterEdited, ClusterID: c.ID, After: "acl " + acl.Revision})
}

func (a ACL) check(bad *reasons, at string) {
	for family, list := range map[string][]string{"ipv4": a.IPv4, "ipv6": a.IPv6} {
		for n, text := range list {
			if p, ok := network(text); !ok || p.Addr().Is4() != (family == "ipv4") {
				bad.add(fmt.Sprintf("%s.addresses.%s[%d]", at, family, n), "Must be an %s address or network", family)
			}
		}
	}
	bad.sort()
}

// network reads an address or a network.
func network(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, true
	}
	a, err := netip.ParseAddr(text)
	return netip.PrefixFrom(a, a.BitLen()), err == nil
}

func networks(list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		p, _ := network(text) // checked
		out[i] = p.String()
	}
	return out
}
