package world

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// CreateLKECluster makes a cluster. Standard needs a pool, the platform must have room for the nodes, and the control
// plane can be reached after a while.
func (w Clusters) CreateLKECluster(b *api.LKEClusterCreate) (api.LKECluster, error) {
	spec, err := clusterSpec(b)
	if err != nil {
		return api.LKECluster{}, err
	}
	if err := w.checkClusterCreate(spec); err != nil {
		return api.LKECluster{}, err
	}
	room := &cluster{Cluster: account.Cluster{Tier: spec.Tier, Region: spec.Region}}
	for n, p := range spec.Pools {
		if err := w.Pools().checkPoolCreate(room, p); err != nil {
			continue // addCluster refuses it, with the field's place
		}
		if err := w.Pools().checkRoom(room, p.Type, p.Count); err != nil {
			return api.LKECluster{}, prefixed(err, "node_pools", n)
		}
		room.pools = append(room.pools, &pool{Pool: account.Pool{Count: p.Count}})
	}
	hangs := spec.Tier == catalog.Enterprise && spec.VPCID == 0 && !w.VPCs().room()
	if hangs && w.behaviour.RefuseBeyondLimits {
		return api.LKECluster{}, beyondLimits()
	}
	c, err := w.addCluster(spec, hangs)
	if err != nil {
		return api.LKECluster{}, err
	}
	if !c.hangs {
		w.start(c)
	}
	return w.cluster(c), nil
}

// start gives a cluster its network and its control plane.
func (w Clusters) start(c *cluster) {
	if c.Tier == catalog.Enterprise {
		w.giveNetwork(c)
	}
	c.Reachable = w.now.Add(w.delays.ControlPlane.draw(w.draws.side))
	// The addresses are there long before the kubeconfig (FACTS 18, third table, 22).
	c.addressed = w.now.Add(w.delays.Endpoints.draw(w.draws.side))
}

// serve starts the clusters that wait for room for a VPC, as far as there is room now. At the account's VPC limit a new
// cluster of LKE Enterprise is accepted and hangs (FACTS 18.7).
func (w Clusters) serve() {
	for _, c := range sorted(w.clusters) {
		if c.hangs && w.VPCs().room() {
			c.hangs = false
			w.start(c)
		}
	}
}

// giveNetwork gives an Enterprise cluster a firewall and, unless it names one, a
// VPC of its own.
func (w Clusters) giveNetwork(c *cluster) {
	c.StackType = cmp.Or(c.StackType, string(api.LKEClusterStackTypeIPv4))
	name := fmt.Sprintf("lke%d", c.ID)
	w.Firewalls().addFirewall(&api.FirewallCreate{Label: &name, Rules: api.FirewallRulesCreate{
		Inbound: &[]api.FirewallRule{}, InboundPolicy: "DROP", OutboundPolicy: "ACCEPT",
	}})
	if c.VPCID != 0 {
		return
	}
	v := w.VPCs().addVPC(&api.VPCCreate{
		Label: name, Region: c.Region, IPv6: &[]api.AddressRange{{Range: "/52"}},
		Subnets: &[]api.VPCSubnetCreate{{Label: name, IPv4: "10.0.0.0/8", IPv6: &[]api.AddressRange{{Range: "auto"}}}},
	}, vpcType, vpcRanges)
	c.VPCID, c.SubnetID = v.ID, v.Subnets[0].ID
}

func clusterSpec(b *api.LKEClusterCreate) (account.ClusterSpec, error) {
	plane := deref(b.ControlPlane)
	spec := account.ClusterSpec{
		Label: b.Label, Region: b.Region, Tier: catalog.Standard, K8sVersion: b.K8SVersion, Tags: deref(b.Tags), AppPlatform: deref(b.AplEnabled),
		HighAvailability: deref(plane.HighAvailability), AuditLogs: deref(plane.AuditLogsEnabled), ACL: plane.ACL,
		StackType: string(deref(b.StackType)), VPCID: deref(b.VPCID), SubnetID: deref(b.SubnetID),
	}
	if spec.AppPlatform { // recorded without control_plane in the request (FACTS 18.15)
		spec.HighAvailability = true
	}
	if string(deref(b.Tier)) == catalog.Enterprise && spec.VPCID == 0 {
		spec.SubnetID = 0 // it is ignored (FACTS 18.8)
	}
	set(&spec.Tier, (*string)(b.Tier))
	for n, p := range b.NodePools {
		made, err := poolSpec(p)
		if err != nil {
			return spec, prefixed(err, "node_pools", n)
		}
		spec.Pools = append(spec.Pools, made)
	}
	switch {
	case spec.Region == "":
		return spec, Refuse("region", "region is not valid")
	case spec.K8sVersion == "":
		return spec, Refuse("k8s_version", "k8s_version is not valid")
	}
	return spec, nil
}

// checkClusterCreate checks the rules that hold for requests to the API and not for AddCluster.
func (w Clusters) checkClusterCreate(spec account.ClusterSpec) error {
	var bad reasons
	if spec.Tier != catalog.Enterprise {
		if len(spec.Pools) == 0 {
			bad.add("node_pools", "A cluster needs at least one node pool")
		}
		for field, given := range map[string]bool{
			"stack_type": spec.StackType != "", "vpc_id": spec.VPCID != 0, "subnet_id": spec.SubnetID != 0,
			"control_plane.audit_logs_enabled": spec.AuditLogs,
		} {
			if given {
				bad.enterpriseOnly(field)
			}
		}
		bad.sort()
	}
	if v, ok := w.assets.vpcs[spec.VPCID]; spec.VPCID != 0 && (!ok || v.Region != spec.Region) {
		bad.invalid("vpc_id")
	}
	if v, s, ok := w.VPCs().subnet(spec.SubnetID); spec.SubnetID != 0 && (!ok || v.ID != spec.VPCID) {
		bad.invalid("subnet_id")
	} else if spec.SubnetID != 0 && !ipv6Of(s).IsValid() {
		bad.add("subnet_id", "The subnet must have an IPv4 and an IPv6 network")
	}
	return bad.err()
}

// DeleteLKECluster removes a cluster with its pools and Linodes.
func (w Clusters) DeleteLKECluster(clusterID int) error {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return err
	}
	for len(c.pools) > 0 {
		w.Pools().dropPool(c.pools[0])
	}
	delete(w.clusters, c.ID)
	w.record(w.Actor, account.Entry{Action: account.ClusterDeleted, ClusterID: c.ID, Before: c.Label})
	return nil
}

// ListLKEClusterAPIEndpoints gives the addresses of a cluster's API server.
// Nothing listens there.
func (w Clusters) ListLKEClusterAPIEndpoints(clusterID int) ([]api.LKEClusterAPIEndpoint, error) {
	host, err := w.controlPlane(clusterID, func(c *cluster) time.Time { return c.addressed },
		"Cluster API Endpoints are not yet available. Please try again later.")
	return []api.LKEClusterAPIEndpoint{{Endpoint: "https://" + host + ":443"}, {Endpoint: "https://" + host + ":6443"}}, err
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster: {server: "https://%[2]s:443"}
contexts:
- name: %[1]s-ctx
  context: {cluster: %[1]s, user: %[1]s-admin}
current-context: %[1]s-ctx
users:
- name: %[1]s-admin
  user: {token: not-a-token-%[3]d}
`

// GetLKEClusterKubeconfig returns a kubeconfig without credentials: there is no Kubernetes.
func (w Clusters) GetLKEClusterKubeconfig(clusterID int) (api.LKEKubeconfig, error) {
	host, err := w.controlPlane(clusterID, func(c *cluster) time.Time { return c.Reachable },
		"Cluster kubeconfig is not yet available. Please try again later.")
	if err != nil {
		return api.LKEKubeconfig{}, err
	}
	text := fmt.Appendf(nil, kubeconfig, fmt.Sprintf("lke%d", clusterID), host, w.clusters[clusterID].KubeconfigSerial)
	return api.LKEKubeconfig{Kubeconfig: base64.StdEncoding.EncodeToString(text)}, nil
}

// controlPlane returns the host of a cluster's API server, or the API's refusal for a young cluster (the words are
// recorded).
func (w Clusters) controlPlane(id int, since func(*cluster) time.Time, notYet string) (string, error) {
	c, err := lookup(w.clusters, id)
	switch {
	case err != nil:
		return "", err
	case c.hangs || w.now.Before(since(c)):
		return "", answered(http.StatusServiceUnavailable, notYet)
	}
	return fmt.Sprintf("00000000-0000-4000-8000-%012d.%s-1-gw.example.com", id, c.Region), nil
}
