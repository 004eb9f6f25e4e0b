package charttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/migration/eks"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

// An API server with the charts' definitions and every policy accepts the output of `import` for each fixture.
func TestImportedManifestsAreAccepted(t *testing.T) {
	b := withDefinitions(t)
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "settings": map[string]any{"clusterName": "demo"}, "admissionPolicy": map[string]any{"enabled": true},
	}, charts.ResetValues)
	admin := b.as(t, "admin")
	enforced(t, b)
	apply := func(name string, text []byte) {
		t.Run(name, func(t *testing.T) {
			objects := decode(t, name, string(text))
			if len(objects) == 0 {
				t.Error("it has no object")
			}
			for _, object := range objects {
				if err := admin.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
	const folder = "../../modules/advisor/migration"
	for _, name := range []string{"eks.yaml", "getting-started.yaml"} {
		var out bytes.Buffer
		if err := eks.Translate(&out, bytes.NewReader(fixture(t, folder, "eks", "testdata", name))); err != nil {
			t.Fatal(err)
		}
		apply("eks/"+name, out.Bytes())
	}
	apply("lke/shop.yaml", fixture(t, folder, "lke", "testdata", "shop.yaml"))
}

func fixture(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
