// Package clusterapi makes nodes of clusterapi mode: Machines of MachineDeployments of Cluster API, in the cluster itself or in a
// management cluster apart. It is a Backend of package cloudprovider over an Allocator of module clusterapi.
//
// # The class
//
// A LinodeNodeClass selects MachineDeployments with spec.machineDeploymentSelector. A kind of its own would need a second CRD, hash,
// controller, status and set of rights for one field, and NodePools could not be moved between modes.
//
// # Where things are
//
//	cluster.go   finds the region; connects to the management cluster
//	mode.go      puts the parts together
//	view.go      the last reading of deployments, templates and Machines
//	shape.go     what a template says of its Machines: type, region, capacity, labels, taints
//	catalog.go   instance types, with one offering for each deployment
//	backend.go   claims, releases, drift
//	check.go     the condition MachineDeploymentsReady
//
// Guarantees: one Machine for each NodeClaim, as module clusterapi gives it; only MachineDeployments of the cluster with the label
// karpenter.k8s.linode/enabled are used.
//
// Not guaranteed: provider IDs other than linode://<ID> are not nodes of this operator. Tags of a class are not put on Linodes: they
// are in the LinodeMachineTemplate. All deployments are in the one region of the operator.
package clusterapi
