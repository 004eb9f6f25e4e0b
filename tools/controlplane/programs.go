package controlplane

import (
	"os"
	"path/filepath"
)

// KubernetesVersion is the version that the built control plane reports. It has
// to be the one that kubernetes/go.mod requires; a test compares the two.
const KubernetesVersion = "v1.36.3"

// Program is what is built and from where.
type Program struct {
	Name    string // file name in the output folder
	Module  string // folder of its Go module, relative to the repository's root
	Package string // main package, as `go build` takes it in that folder
	LDFlags string
	// Pinned programs come from a released module and are skipped while they are
	// up to date. The others are this repository's own: they are handed to
	// `go build` each time, whose cache detects better what changed.
	Pinned bool
	// Optional programs are built only when they are asked for by name: they take long, and most work needs none of them.
	Optional bool
}

// Machine is the optional program that a self-managed cluster's nodes run.
const Machine = "machine"

// Without these the API server reports a version that no client can parse.
const kubernetesFlags = "-s -w" +
	" -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1" +
	" -X k8s.io/component-base/version.gitMinor=36" +
	" -X k8s.io/client-go/pkg/version.gitVersion=" + KubernetesVersion

const (
	stripped   = "-s -w"
	etcdModule = "tools/controlplane/etcd"
	kubeModule = "tools/controlplane/kubernetes"
	nodeModule = "tools/controlplane/machine"
	kwokModule = "tools/controlplane/kwok"
	ctlModule  = "tools/controlplane/kubectl"
)

// Programs lists everything that can be built, in the order of building.
func Programs() []Program {
	return []Program{
		{Name: "etcd", Module: etcdModule, Package: "go.etcd.io/etcd/server/v3", LDFlags: stripped, Pinned: true},
		{Name: "kube-apiserver", Module: kubeModule, Package: "k8s.io/kubernetes/cmd/kube-apiserver", LDFlags: kubernetesFlags, Pinned: true},
		{Name: "kube-controller-manager", Module: kubeModule, Package: "k8s.io/kubernetes/cmd/kube-controller-manager", LDFlags: kubernetesFlags, Pinned: true},
		{Name: "kube-scheduler", Module: kubeModule, Package: "k8s.io/kubernetes/cmd/kube-scheduler", LDFlags: kubernetesFlags, Pinned: true},
		{Name: "kwok", Module: kwokModule, Package: "sigs.k8s.io/kwok/cmd/kwok", LDFlags: stripped, Pinned: true},
		{Name: "kubectl", Module: ctlModule, Package: "k8s.io/kubernetes/cmd/kubectl", LDFlags: kubernetesFlags, Pinned: true},
		{Name: Machine, Module: nodeModule, Package: ".", LDFlags: kubernetesFlags, Optional: true},
		{Name: "linodesim", Module: "modules/linodesim", Package: "./cmd/linodesim"},
		{Name: "controller", Module: "modules/operator", Package: "./cmd/controller"},
		{Name: "localcluster", Module: "tools", Package: "./localcluster/cmd/localcluster"},
	}
}

// present reports whether the program's sources are there. Programs of other
// modules always are; a clone that lacks one of ours builds the rest.
func (p Program) present(root string) bool {
	if p.Pinned {
		return true
	}
	files, err := filepath.Glob(filepath.Join(root, p.Module, p.Package, "*.go"))
	return err == nil && len(files) > 0
}

// Missing returns the names among want that are not in the folder bin.
func Missing(bin string, want ...string) []string {
	var missing []string
	for _, name := range want {
		if info, err := os.Stat(filepath.Join(bin, name)); err != nil || !info.Mode().IsRegular() {
			missing = append(missing, name)
		}
	}
	return missing
}
