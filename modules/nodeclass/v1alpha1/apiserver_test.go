package v1alpha1_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// api is a client of a real API server that has the module's CRDs.
var api client.Client

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	binaries, err := findBinaries()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: binaries, CRDs: crds.All()}
	config, err := environment.Start()
	if err != nil {
		// When the CRDs are refused the servers run already.
		fmt.Fprintln(os.Stderr, "starting the API server:", errors.Join(err, environment.Stop()))
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	api, err = client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// findBinaries returns the directory with etcd and kube-apiserver: $KUBEBUILDER_ASSETS, or .bin beside go.work.
func findBinaries() (string, error) {
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
			return "", fmt.Errorf("no go.work above the test's folder; set KUBEBUILDER_ASSETS")
		}
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, ".bin", program)); err != nil {
			return "", fmt.Errorf("%s is missing in .bin: run `make build` first", program)
		}
	}
	return filepath.Join(dir, ".bin"), nil
}

// admit asks the API server whether it accepts a LinodeNodeClass that is given in YAML, and returns the object as the
// server would store it. Nothing is stored. Kind and, without one, the name are filled in.
func admit(t *testing.T, manifest string) (*v1alpha1.LinodeNodeClass, error) {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		t.Fatalf("the test's YAML: %v", err)
	}
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersionKind)
	if object.GetName() == "" {
		object.SetName("default")
	}
	if err := api.Create(context.Background(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		return nil, err
	}
	raw, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	class := &v1alpha1.LinodeNodeClass{}
	if err := yaml.Unmarshal(raw, class); err != nil {
		t.Fatalf("decoding what the server returned: %v", err)
	}
	return class, nil
}
