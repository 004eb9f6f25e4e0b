// Package instance makes nodes of instance mode: plain Linodes that join a self-managed cluster. It is a Backend of package
// cloudprovider over an instances.Manager.
//
// Only this package knows both sides: NodeClaims and LinodeNodeClasses of Kubernetes, and the Spec of a Linode. Spec and user data are
// pure functions of a NodeClaim, its class, the facts about the cluster, and further inputs that the package reads first: a bootstrap
// token, a Secret that the class names, the account's kind of network interfaces. Results have the types that package cloudprovider and
// the controllers use for all modes. Errors keep their kind.
//
// Guarantees: one Linode for each NodeClaim, as package instances guarantees. With each way to join, the node has the labels, taints and
// kubelet settings that the scheduler expected (version [ContractVersion] of this contract). No token is in an error or a log.
//
// Not guaranteed: that a Linode joins. Core replaces a NodeClaim whose node has not registered within 15 minutes.
//
// All methods are safe for concurrent use.
//
// Errors are *claims.Error. A Secret that the class names is read again for each launch. Check tells the controller of classes whether
// nodes could be made from a class: its result is the condition BootstrapReady.
//
// A Linode drifts as taken out of its VPC if two different reads of the VPC, both after its registration, do not show it in the class's
// subnets. Check makes no bootstrap token.
package instance

// ContractVersion is the version of the facts that a node gets: its name, labels, taints, kubelet settings and cluster. Custom user data
// has these facts as variables, whose meaning changes only with this number.
const ContractVersion = 1
