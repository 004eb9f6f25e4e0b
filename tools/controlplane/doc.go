// Package controlplane builds the programs of the local cluster from their Go
// modules into one folder: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kwok at pinned versions, and, from this repository, the
// operator, the Linode API simulator and the local cluster's own command. When it
// is asked for, it builds machine as well: kubeadm and kubelet of the nodes that
// join a self-managed cluster, from Kubernetes' own code.
//
// It is called by `make build` (cmd/build) and by the verb `localcluster build`.
// It uses the standard library only, so that the first command a stranger types
// answers at once instead of compiling a Kubernetes client first.
//
// Each family of pinned programs has a Go module of its own beside this file,
// outside go.work, because etcd, Kubernetes and kwok want different versions of
// the same libraries. Nothing but Go and a Go module proxy is needed: no C
// compiler, no git.
//
// Guarantees: a pinned program is built again only when its go.mod, its go.sum,
// the Go version, the target or the flags changed, or its file is gone; a
// program whose build failed is never taken for an up-to-date one; an error is
// one line that names the program, the cause and the log. Not guaranteed: two
// builds into the same folder at the same time.
package controlplane
