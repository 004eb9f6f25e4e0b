package v1alpha1_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// api is a client of a real API server that has the module's CRDs.
var api client.Client

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if flag.Parse(); testing.Short() {
		return m.Run() // admit skips
	}
	environment, err := apiserver.Start(crds.All())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	api, err = client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// admit sends a LinodeNodeClass in YAML to the API server, and returns the object as the
// server would store it. Nothing is stored. Kind and, without one, the name are filled in.
func admit(t *testing.T, manifest string) (*v1alpha1.LinodeNodeClass, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
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
