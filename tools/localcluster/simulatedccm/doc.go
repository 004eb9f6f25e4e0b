// Package simulatedccm simulates Linode's cloud controller manager in a self-managed cluster.
//
// Package localcluster starts it in instance and clusterapi mode. It sends requests over HTTP to the simulated Linode API, with a token of
// its own, and to the API server. The controllers for Nodes, their lifecycle and Services are Kubernetes' own (k8s.io/cloud-provider), as
// in the real manager. This package has the parts that Linode's manager adds, and follows linode/linode-cloud-controller-manager at b9aa901
// (2026-08-20):
//
//   - one list of all Linodes, up to 15 s old (Config.CacheTTL), with the VPCs' addresses; limited by a tag filter ("contains") and by the
//     VPCs (cloud/linode/services/instances.go, services/vpc.go). One lookup at a time reads the list; lookups that come in the meantime
//     wait, and use the new list. While one of these requests fails, every lookup fails;
//   - a Node's Linode (services/instances.go): with the provider ID linode://ID, only the Linode with this ID. Without it, the Linode whose
//     label is the Node's name, or else the Linode with a public IPv4 address of the Node. If the list has no such Linode, the Linode does
//     not exist for the manager, and Kubernetes' controller deletes the Node once the Node is not ready. It is an
//     error if the ID is no number, or if a Node without an ID has neither the name of a Linode nor an address;
//   - addresses: Hostname is the label; InternalIP are the Linode's IPv4 addresses in the VPC and its private addresses (RFC 1918);
//     ExternalIP are its other IPv4 addresses and its IPv6 address; an InternalIP that the kubelet set stays (services/instances.go). No
//     zone;
//   - shut down is offline or shutting_down (services/instances.go);
//   - label node.k8s.linode.com/host-uuid and annotations node.k8s.linode.com/private-ip and public-ipv6, at most every 5 minutes
//     if all are set (cloud/linode/node_controller.go);
//   - a NodeBalancer for each Service of type LoadBalancer, found again by the address in the Service's status; a config for each port,
//     with all nodes, rebuilt at each change; configs of removed ports are deleted (cloud/linode/loadbalancers.go). With Config.VPCNames,
//     a node's backend is its first InternalIP, in the VPC and the subnet that are named first. Without VPCNames, it is the annotation
//     private-ip, or else the first InternalIP. If one node has no such address, the change fails for all nodes, and Kubernetes'
//     controller tries again.
//
// The package also sets the topology label topology.linode.com/region. In a real cluster the node plugin of the block storage driver sets
// it.
//
// Not simulated: routes, node CIDRs, annotations of Services, TLS, UDP, firewalls of NodeBalancers, IPv6 backends and addresses in a VPC,
// reserved addresses, a second reading of the token.
//
// After an error of the API, Kubernetes' controllers try again, and the next lookup reads the list again. No Node is deleted because of an
// error. The package keeps nothing on disk. After a crash a new Run finds each NodeBalancer by the Service's status; a NodeBalancer whose
// address was not in the status yet stays in the account, and the new Run makes another NodeBalancer.
package simulatedccm
