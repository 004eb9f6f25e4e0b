package charttest

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// quickstart has the values of the quickstart, the fewest that a user can set.
const quickstart = "apiToken: not-a-token\nsettings: {clusterName: my-cluster}\n"

func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir("../../charts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rendered are the objects and notes of a chart.
type rendered struct {
	objects []*unstructured.Unstructured
	notes   string
}

// render renders a chart as release "karpenter" in namespace kube-system would be, with values in YAML, one document
// over the other.
func render(t *testing.T, name string, documents ...string) (rendered, error) {
	t.Helper()
	c := load(t, name)
	release := common.ReleaseOptions{Name: "karpenter", Namespace: "kube-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, values(t, documents...), release, common.DefaultCapabilities)
	if err != nil {
		return rendered{}, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return rendered{}, err
	}
	var r rendered
	for _, file := range slices.Sorted(maps.Keys(files)) {
		switch {
		case strings.HasSuffix(file, ".txt"):
			r.notes = files[file]
		case strings.HasSuffix(file, ".yaml"):
			r.objects = append(r.objects, decode(t, file, files[file])...)
		}
	}
	return r, nil
}

func values(t *testing.T, documents ...string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, document := range documents {
		layer := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &layer); err != nil {
			t.Fatalf("the test's values: %v", err)
		}
		all = loader.MergeMaps(all, layer)
	}
	return all
}

func mustRender(t *testing.T, name string, documents ...string) rendered {
	t.Helper()
	r, err := render(t, name, documents...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decode(t *testing.T, file, content string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		object := &unstructured.Unstructured{}
		// Strict, so that a key that comes twice is an error.
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// names returns "Kind/name" of the objects, sorted.
func (r rendered) names() []string {
	var names []string
	for _, object := range r.objects {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	slices.Sort(names)
	return names
}

// get decodes the object of a kind and name into a type, refusing fields that the type does not have.
func get[T any](t *testing.T, r rendered, kind, name string) T {
	t.Helper()
	var typed T
	for _, object := range r.objects {
		if object.GetKind() != kind || object.GetName() != name {
			continue
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, &typed); err != nil {
			t.Fatalf("%s %s is not valid: %v", kind, name, err)
		}
		return typed
	}
	t.Fatalf("no %s %q among %v", kind, name, r.names())
	return typed
}
