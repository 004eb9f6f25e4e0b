// Package simulatedccm simulates Linode's cloud controller manager in a self-managed cluster.
//
// Package localcluster starts it in instance mode. It speaks HTTP to the simulated Linode API, with a token of its own, and to the API
// server. The controllers for Nodes, their lifecycle and Services are Kubernetes' own (k8s.io/cloud-provider), as in the real one; this
// package has what Linode's adds, and follows linode/linode-cloud-controller-manager at b9aa901 (2026-08-20):
//
//   - one list of all Linodes, up to 15 s old, with the VPCs' addresses; limited by a tag filter ("contains") and by the VPCs
//     (cloud/linode/services/instances.go, services/vpc.go). An error of any of these requests is the error of every lookup;
//   - a Node's Linode: by provider ID, else by Node name and label, else by public address (services/instances.go). One that is not in the
//     list does not exist: Kubernetes' controller deletes its Node once that is not ready;
//   - addresses: Hostname is the label; InternalIP are the VPC's IPv4 addresses and every private one (RFC 1918) of the Linode, ExternalIP
//     the others and the IPv6 one; an InternalIP that the kubelet set stays (services/instances.go). No zone;
//   - shut down is offline or shutting_down (services/instances.go);
//   - label node.k8s.linode.com/host-uuid and annotations node.k8s.linode.com/private-ip and public-ipv6, at most every 5 minutes
//     where all are set (cloud/linode/node_controller.go);
//   - a NodeBalancer for each Service of type LoadBalancer, found again by the address in the Service's status; a config for each port,
//     with all nodes, rebuilt at each change; configs of ports that are gone deleted (cloud/linode/loadbalancers.go). A node's backend is
//     its annotation private-ip where no subnet is used, else its first InternalIP; a node without either fails the whole build.
//
// The topology label topology.linode.com/region is set as well: it is the node plugin of the block storage driver that adds it.
//
// Not simulated: routes, node CIDRs, annotations of Services, TLS, UDP, firewalls of NodeBalancers, IPv6 backends and addresses in a VPC,
// reserved addresses, --subnet-names, a token that is read again.
//
// An error of the API is an error of that lookup alone, and Kubernetes' controllers try again: no Node is deleted for it. Run ends with
// ctx.
package simulatedccm
