// Package clusterapi makes nodes of clusterapi mode: Machines of MachineDeployments of Cluster API. Cluster API runs in the same cluster
// or in a separate management cluster. It is a Backend of package cloudprovider over an Allocator of module clusterapi.
//
// # The class
//
// A LinodeNodeClass selects MachineDeployments with spec.machineDeploymentSelector. A separate kind for clusterapi mode would need a
// second CRD, hash, controller, status and set of rights for one field, and users could not move NodePools between modes.
//
// # Files
//
//	cluster.go   finds the region; connects to the management cluster
//	mode.go      puts the parts together
//	view.go      the last reading of deployments, templates and Machines
//	shape.go     what a template determines: type, region, capacity, labels, taints
//	catalog.go   instance types, with one offering for each deployment
//	backend.go   claims, releases, drift
//	check.go     the condition MachineDeploymentsReady
//
// # Rules
//
// A claim tries the deployments of the chosen instance type in the order of their price. For a LinodeMachineTemplate the instance type is
// the plan in its spec. For other infrastructure it is the label node.kubernetes.io/instance-type of the nodes, or else the deployment's
// name; such a deployment also needs a known capacity and the annotation with the price.
//
// Drift has two reasons of this mode: MachineSetOutdated, for a Machine of an older revision of its deployment, and
// MachineDeploymentNotSelected, for a Machine of a deployment that the class no longer selects.
//
// Guarantees: each NodeClaim has one Machine, as module clusterapi guarantees. The mode uses only MachineDeployments with the label
// karpenter.k8s.linode/enabled, of one Cluster that is alone in its namespace.
//
// Limits: a Machine with a provider ID other than linode://<ID> is not a node of this operator, and claiming it fails with Conflict. The
// mode does not put the tags of a class on Linodes: tags are in the LinodeMachineTemplate. All deployments are in the operator's region.
//
// Errors are *claims.Error. A MachineDeployment that cannot be used does not stop the others: check.go names it in the class's condition.
// Package cmd/controller wires the mode; the program karpenter-linode calls Offers, which reads the deployments once.
//
// The view of the deployments is read every 15 seconds, and a template every five minutes.
package clusterapi
