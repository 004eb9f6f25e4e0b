// Package plane runs a Kubernetes control plane as child processes on loopback:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and kwok,
// which simulates the kubelets of nodes that carry NodeLabel.
//
// It is called by package localcluster. It does not depend on Linode: the caller
// creates the nodes that it needs.
//
// Guarantees: everything listens on 127.0.0.1 only; etcd answers to the API
// server alone (a certificate authority of its own); RBAC and the node authorizer
// are on, and controller manager and scheduler have the identities that
// Kubernetes gives them; no cloud controller runs in the controller manager.
// After Start returns, every component has answered its health endpoint and the
// ServiceAccounts of the namespace kube-system exist, so that pods can be
// created. Any number of planes runs side by side. After Stop no process is left.
//
// With Config.Machine nodes can join as in a cluster that kubeadm made:
// bootstrap tokens authenticate, cluster-info is signed with them, CSRs of nodes
// are approved and signed, NodeRestriction is on, and kubeadm's own code has made
// its ConfigMaps and rights. Package simulatedboot simulates the machines.
//
// Not guaranteed: that the state survives, because etcd does not sync to disk. There
// is no pod network, no DNS and no container: pods are only simulated.
//
// Errors are one line: what failed, why, and the log. A Plane's methods are safe
// for concurrent use.
//
// Start returns an error if a program is missing, a port cannot be reserved, or a component
// does not become healthy before ctx ends. Died delivers one error when a component ends
// without Stop. Ports are reserved between processes, so that planes that start at the same
// time get different ports.
//
// Ports are between 15000 and 32767.
package plane
