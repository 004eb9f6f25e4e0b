// Package controlplane finds the programs of the local cluster, which
// tools/make/build.sh builds from their Go modules into .bin: their paths, missing
// programs, and their version of Kubernetes.
//
// Each family of pinned programs has a Go module of its own beside this file,
// outside go.work. The libraries that these modules share with each other, with
// the operator and with the tools have one version each, so that Go compiles each
// of their packages once; a test compares the versions. A build needs only Go, a Go
// module proxy and a shell: no C compiler, no git. Two programs are built on request
// only. Machine is kubeadm and kubelet of the nodes that join a self-managed cluster,
// from Kubernetes' own code. Clusterapi has Cluster API's controllers; the build writes
// their CRDs and webhooks from the files of Cluster API's module into clusterapi.yaml,
// in the folder of the program.
//
// KUBERNETES=1.37.2 builds the control plane of another release into a folder of
// its own, .bin/kubernetes-1.37.2, with the versions of that release. Kubelets stay
// at the default release.
//
// Guarantees of the script, which the tests here check: a pinned program is built
// again only if its go.mod, its go.sum, the target or the flags changed, or its file
// is gone. A program whose build failed never counts as up to date. An error is one
// line that names the program, the cause and the log. Not
// guaranteed: two builds into the same folder at the same time.
//
// Missing returns the names of programs that are not built; the errors of its callers name
// the make target that builds them. KubernetesVersion is the version of the kubelets, too.
//
// FindRoot returns an error outside of the repository. The default release is
// KubernetesVersion; a release that equals it counts as the default.
package controlplane
