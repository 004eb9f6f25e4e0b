package controlplane

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// KubernetesVersion is the version that the built control plane reports. It has
// to be the one that kubernetes/go.mod requires; a test compares the two.
const KubernetesVersion = "v1.36.3"

// Machine is the optional program that a self-managed cluster's nodes run.
const Machine = "machine"

// ClusterAPI is the optional program with Cluster API's controllers.
const ClusterAPI = "clusterapi"

// ClusterAPIManifests is the file with its definitions and webhooks, in the folder of programs.
func ClusterAPIManifests(bin string) string { return filepath.Join(bin, ClusterAPI+".yaml") }

// BinDir is where the programs are put and looked for.
func BinDir(root string) string { return filepath.Join(root, ".bin") }

// Assets is where the API server and etcd for a test of one package are: KUBEBUILDER_ASSETS, or what was built.
func Assets(root string) (string, error) {
	bin := cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), BinDir(root))
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
