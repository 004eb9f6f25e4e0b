package controlplane

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// KubernetesVersion is the version of the default control plane and of the kubelets. It has
// to be the version that kubernetes/go.mod requires; a test compares the two.
const KubernetesVersion = "v1.36.3"

// Machine is the optional program that a self-managed cluster's nodes run.
const Machine = "machine"

// ClusterAPI is the optional program with Cluster API's controllers.
const ClusterAPI = "clusterapi"

// ClusterAPIManifests is the file with Cluster API's CRDs and webhook configurations, in the folder of programs.
func ClusterAPIManifests(bin string) string { return filepath.Join(bin, ClusterAPI+".yaml") }

// BinDir is the folder of the built programs.
func BinDir(root string) string { return filepath.Join(root, ".bin") }

// Release returns the release of Kubernetes that KUBERNETES names, such as 1.37.2, and "" for the default. Programs and tests that start
// a control plane read it once and pass it on.
func Release() string {
	release := strings.TrimPrefix(os.Getenv("KUBERNETES"), "v")
	if "v"+release == KubernetesVersion {
		return ""
	}
	return release
}

// Version is the version that the control plane of a release reports; release "" = the default release.
func Version(release string) string {
	if release == "" {
		return KubernetesVersion
	}
	return "v" + release
}

// PlaneDir is the folder of a release's control plane programs; release "" = the default release. tools/make/build.sh fills it.
func PlaneDir(root, release string) string {
	if release == "" {
		return BinDir(root)
	}
	return filepath.Join(BinDir(root), "kubernetes-"+release)
}

// Assets is the folder with the API server and etcd for the tests of a package: KUBEBUILDER_ASSETS, or else the folder of the built
// control plane.
func Assets(root string) (string, error) {
	bin := cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), PlaneDir(root, Release()))
	if missing := Missing(bin, "etcd", "kube-apiserver"); len(missing) > 0 {
		return "", fmt.Errorf("%s lacks %v: run `make build` first", bin, missing)
	}
	return bin, nil
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
