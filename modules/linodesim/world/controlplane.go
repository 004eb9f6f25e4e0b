package world

import (
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// CreateCluster makes a cluster as POST /lke/clusters does: Standard needs a
// pool, the nodes must be had, and the control plane takes a while.
func (w *World) CreateCluster(by Actor, spec ClusterSpec) (Cluster, error) {
	defer w.lock()()
	var bad reasons
	enterprise := spec.Tier == catalog.Enterprise
	if !enterprise {
		if len(spec.Pools) == 0 {
			bad.add("node_pools", "A cluster needs at least one node pool")
		}
		for field, given := range map[string]bool{
			"stack_type": spec.StackType != "", "vpc_id": spec.VPCID != 0, "subnet_id": spec.SubnetID != 0,
			"control_plane.audit_logs_enabled": spec.AuditLogs,
		} {
			if given {
				bad.add(field, "%s is only available for LKE Enterprise clusters", field)
			}
		}
		bad.sort()
	}
	w.checkClusterNetwork(&bad, spec)
	if err := bad.err(); err != nil {
		return Cluster{}, err
	}
	room := &cluster{Cluster: Cluster{Tier: spec.Tier, Region: spec.Region}}
	for n, p := range spec.Pools {
		if err := w.checkPoolCreate(room, p); err != nil {
			continue // addCluster says so, with the field's place
		}
		if err := w.checkRoom(room, p.Type, p.Count); err != nil {
			return Cluster{}, Prefixed(err, "node_pools", n)
		}
		room.pools = append(room.pools, &pool{Pool: Pool{Count: p.Count}})
	}
	made, err := w.addCluster(by, spec)
	if err != nil {
		return Cluster{}, err
	}
	c := w.clusters[made.ID]
	c.Reachable = w.now.Add(w.profile.ControlPlane.draw(w.side))
	return w.clusterState(c), nil
}

func (w *World) checkClusterNetwork(bad *reasons, spec ClusterSpec) {
	if spec.VPCID != 0 {
		if v, ok := w.assets.vpcs[spec.VPCID]; !ok || v.Region != spec.Region {
			bad.add("vpc_id", "vpc_id is not valid")
		}
	}
	if spec.SubnetID != 0 {
		if v, _, ok := w.subnet(spec.SubnetID); !ok || v.ID != spec.VPCID {
			bad.add("subnet_id", "subnet_id is not valid")
		}
	}
}

// DeleteCluster removes a cluster with its pools and Linodes.
func (w *World) DeleteCluster(by Actor, id int) error {
	defer w.lock()()
	c, ok := w.clusters[id]
	if !ok {
		return notFound()
	}
	for len(c.pools) > 0 {
		w.dropPool(by, c.pools[0])
	}
	delete(w.clusters, id)
	w.record(by, Entry{Action: ClusterDeleted, ClusterID: id, Before: c.Label})
	return nil
}

// Endpoints gives the addresses of a cluster's API server. Nothing listens
// there.
func (w *World) Endpoints(id int) ([]string, error) {
	defer w.lock()()
	host, err := w.controlPlane(id, "Cluster API Endpoints are not yet available. Please try again later.")
	if err != nil {
		return nil, err
	}
	return []string{"https://" + host + ":443", "https://" + host + ":6443"}, nil
}

// Kubeconfig gives one without credentials, base64: there is no Kubernetes.
func (w *World) Kubeconfig(id int) (string, error) {
	defer w.lock()()
	host, err := w.controlPlane(id, "Cluster kubeconfig is not yet available. Please try again later.")
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("lke%d", id)
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: %[1]s\n  cluster: {server: \"https://%[2]s:443\"}\n"+
		"contexts:\n- name: %[1]s-ctx\n  context: {cluster: %[1]s, user: %[1]s-admin}\ncurrent-context: %[1]s-ctx\nusers:\n- name: %[1]s-admin\n  user: {token: not-a-token-%[3]d}\n", name, host, w.clusters[id].KubeconfigSerial)
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// controlPlane gives the host, or what the API says of a young cluster (the
// words are recorded).
func (w *World) controlPlane(id int, notYet string) (string, error) {
	c, ok := w.clusters[id]
	if !ok {
		return "", notFound()
	}
	if w.now.Before(c.Reachable) {
		return "", &Refusal{Status: http.StatusServiceUnavailable, Reasons: []Reason{{"", notYet}}}
	}
	return fmt.Sprintf("00000000-0000-4000-8000-%012d.%s-1-gw.example.com", id, c.Region), nil
}
