package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// The API server accepts every manifest in the pages and in docs/examples, with unknown fields as errors. The chart accepts all values
// there.
func TestManifests(t *testing.T) {
	api := apiServer(t)
	objects, values := 0, 0
	for _, p := range guides(t) {
		for _, b := range p.blocks {
			if b.language != "yaml" {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", p.path, b.line), func(t *testing.T) {
				switch {
				case strings.Contains(b.mark, "fragment"):
					var any any
					if err := yaml.Unmarshal([]byte(b.text), &any); err != nil {
						t.Error(err)
					}
				case strings.Contains(b.mark, "values of the chart karpenter"):
					values++
					renders(t, b.text)
				default:
					objects += accepted(t, api, b.text)
				}
			})
		}
	}
	examples, err := filepath.Glob(filepath.Join(root, "docs/examples/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		t.Run(filepath.Base(example), func(t *testing.T) {
			text, err := os.ReadFile(example)
			if err != nil {
				t.Fatal(err)
			}
			objects += accepted(t, api, string(text))
		})
	}
	if objects < 10 || values < 2 {
		t.Errorf("only %d objects and %d sets of values were found", objects, values)
	}
}

// A block that is marked as the same as files of docs/examples has their objects.
func TestBlocksAreTheirExamples(t *testing.T) {
	example, found := regexp.MustCompile(`docs/examples/[\w-]+\.yaml`), 0
	for _, p := range guides(t) {
		for _, b := range p.blocks {
			if !strings.Contains(b.mark, "the same as ") {
				continue
			}
			found++
			var want []any
			for _, name := range example.FindAllString(b.mark, -1) {
				want = append(want, decoded(t, read(t, name))...)
			}
			if got := decoded(t, b.text); len(want) == 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%s:%d: the block differs from its examples:\n%v\n%v", p.path, b.line, got, want)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d blocks are marked", found)
	}
}

func decoded(t *testing.T, text string) (documents []any) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		var into any
		if err := yaml.Unmarshal([]byte(document), &into); err != nil {
			t.Fatal(err)
		}
		documents = append(documents, into)
	}
	return documents
}

func apiServer(t *testing.T) client.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	assets, err := controlplane.Assets(root)
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{CRDs: crds.All(), BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: 3 * time.Minute}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	api, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	argo := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}} // of an example; its other namespaces are there
	if err := api.Create(t.Context(), argo); err != nil {
		t.Fatal(err)
	}
	return api
}

// accepted checks with dry runs that the API server would create each object, and counts them.
func accepted(t *testing.T, api client.Client, text string) int {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for count := 0; ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		if len(object.Object) == 0 {
			continue // a comment
		}
		count++
		if namespaced, err := api.IsObjectNamespaced(object); err == nil && namespaced && object.GetNamespace() == "" {
			object.SetNamespace("default")
		}
		err = api.Create(context.Background(), object, client.DryRunAll, client.FieldValidation("Strict"))
		// A Pod needs a ServiceAccount, which no controller makes here; everything else about it has been checked by then.
		if err != nil && !strings.Contains(err.Error(), "error looking up service account") {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// renders renders the chart with values, and returns its files by name.
func renders(t *testing.T, text string) map[string]string {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadDir(filepath.Join(root, "charts/karpenter"))
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "karpenter", Namespace: "kube-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
