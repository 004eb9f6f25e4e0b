// Package apiserver starts a real API server, with etcd, for the tests of this module and of modules that build on it.
// Only tests import it.
//
// The programs come from `make build`, which puts them into .bin beside go.work, or from $KUBEBUILDER_ASSETS.
//
// A start takes about 20 seconds of processor time, so the tests of one package share a server
// (Shared); with -short these tests are skipped. An error names the missing program and the command
// that builds it. A start that takes longer than three minutes is an error.
package apiserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startTimeout bounds the start of one process. Beside six clusters on two processors a start takes longer than envtest's 20 seconds.
const startTimeout = 3 * time.Minute

// Start starts an API server with these definitions. Its address is in the environment's Config; Stop ends it.
func Start(definitions []*apiextensionsv1.CustomResourceDefinition) (*envtest.Environment, error) {
	dir, err := binaries()
	if err != nil {
		return nil, err
	}
	environment := &envtest.Environment{CRDs: definitions, BinaryAssetsDirectory: dir, ControlPlaneStartTimeout: startTimeout}
	if _, err := environment.Start(); err != nil {
		// When the definitions are refused the servers run already.
		return nil, fmt.Errorf("starting the API server: %w", errors.Join(err, environment.Stop()))
	}
	return environment, nil
}

// binaries is the folder with etcd and kube-apiserver.
func binaries() (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.work above the test's folder; set KUBEBUILDER_ASSETS")
		}
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, ".bin", program)); err != nil {
			return "", fmt.Errorf("%s is missing in .bin: run `make build` first", program)
		}
	}
	return filepath.Join(dir, ".bin"), nil
}
