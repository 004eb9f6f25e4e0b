// Package manifest applies YAML files to a cluster as `kubectl apply --server-side`
// would, so that the demo and the end-to-end tests use the very files that the
// documentation shows.
//
// An object that another manager has changed is taken over (force). The error names the
// file, the kind and the name of the object at which Apply has stopped; earlier objects
// stay applied.
package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner is the field manager under which the objects are applied.
const owner = client.FieldOwner("localcluster")

// ApplyFile applies every object of a YAML file, in order, and returns them as the
// API server stored them. Objects without a namespace go to "default" when their
// kind needs a namespace. Each change may edit an object before it is applied.
func ApplyFile(ctx context.Context, c client.Client, path string, change ...func(*unstructured.Unstructured)) ([]*unstructured.Unstructured,
	error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := Apply(ctx, c, data, change...)
	if err != nil {
		return objects, fmt.Errorf("%s: %w", path, err)
	}
	return objects, nil
}

// Apply applies every object of a YAML document stream; see ApplyFile.
func Apply(ctx context.Context, c client.Client, data []byte, change ...func(*unstructured.Unstructured)) ([]*unstructured.Unstructured,
	error) {
	var applied []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return applied, nil
		} else if err != nil {
			return applied, fmt.Errorf("reading YAML: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		namespaced, err := c.IsObjectNamespaced(object)
		if err != nil {
			return applied, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace("default")
		}
		for _, edit := range change {
			edit(object)
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), owner, client.ForceOwnership); err != nil {
			return applied, fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		applied = append(applied, object)
	}
}
