// Package instance makes nodes of instance mode: plain Linodes that join a self-managed cluster. It is a Backend of package
// cloudprovider over an instances.Manager.
//
// It alone has both sides in view: NodeClaims and LinodeNodeClasses of Kubernetes, and the Spec of a Linode. Spec and user data are pure
// functions of a NodeClaim, its class and the facts about the cluster. The package reads further inputs first: a bootstrap token, a Secret
// that the class names, the account's kind of network interfaces. Results are types that package cloudprovider and the controllers share
// for all modes; errors keep their kind.
//
// Guarantees: one Linode for each NodeClaim, as package instances gives it; labels, taints and kubelet settings of the node are as
// the scheduler expected, whatever the class's way to join, with version [ContractVersion]; no token is in an error or a log.
//
// Not guaranteed: that a Linode joins. Core replaces a NodeClaim whose node has not registered within 15 minutes.
//
// All methods are safe for concurrent use.
//
// Errors are *claims.Error. A Secret that the class names is read anew for each launch. Check tells the controller of classes, without a
// request to the Linode API that is not remembered, whether a class could make nodes: its result is the condition BootstrapReady.
//
// A Linode that is not in the subnets of its class has drifted when two different reads of the VPC, both after its registration, lack it.
// Check makes no bootstrap token.
package instance

// ContractVersion is the version of the facts that a node gets: its name, labels, taints, kubelet settings and cluster. User data that a
// user writes names its parts as variables, which keep their meaning while this number stays.
const ContractVersion = 1
