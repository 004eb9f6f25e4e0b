package ci_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// plan returns the script's output for these changed files.
func plan(t *testing.T, files ...string) (modules []string, deep string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../make/ci-plan.sh")
	cmd.Env = append(os.Environ(), "FILES="+strings.Join(files, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(line, "=")
		if name == "deep" {
			deep = strings.TrimSpace(value)
			continue
		}
		if err := json.Unmarshal([]byte(value), map[string]any{"modules": &modules}[name]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return modules, deep
}

// A change of few libraries has their whole tests run; a wider change has the next of the six parts.
func TestAChangeOfLibrariesHasItsDeepTests(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"a library":           {[]string{"modules/lkepool/key.go", "modules/lkepool/node.go", "docs/claiming.md"}, "modules/lkepool"},
		"two libraries":       {[]string{"modules/lkepool/key.go", "modules/claims/tags.go"}, "modules/lkepool modules/claims"},
		"four":                {[]string{"modules/lkepool/a.go", "modules/claims/a.go", "modules/linode/a.go", "modules/instances/a.go"}, ""},
		"the operator":        {[]string{"modules/operator/options/options.go"}, ""},
		"a library and tools": {[]string{"modules/lkepool/key.go", "tools/ci/doc.go"}, ""},
		"a page":              {[]string{"docs/install.md"}, ""},
		"a chart":             {[]string{"charts/karpenter/values.yaml"}, ""},
	} {
		if _, deep := plan(t, c.files...); deep != c.want {
			t.Errorf("%s: deep=%q, want %q", name, deep, c.want)
		}
	}
}

func TestAChangeConcernsItsModuleAndThoseThatRequireIt(t *testing.T) {
	all := []string{"modules/advisor", "modules/claims", "modules/clusterapi", "modules/instances", "modules/linode", "modules/linodesim",
		"modules/lkeprobe", "modules/lkepool", "modules/nodeclass", "modules/operator", "tools"}
	for name, c := range map[string]struct{ files, want []string }{
		"a leaf": {[]string{"modules/nodeclass/README.go"}, []string{"modules/advisor", "modules/nodeclass", "modules/operator", "tools"}},
		"the client": {[]string{"modules/linode/client.go"},
			[]string{"modules/advisor", "modules/instances", "modules/linode", "modules/linodesim", "modules/lkeprobe", "modules/lkepool",
				"modules/operator",
				"tools"}},
		"the operator":           {[]string{"modules/operator/options/options.go"}, []string{"modules/advisor", "modules/operator", "tools"}},
		"a module's page":        {[]string{"modules/operator/README.md"}, []string{"modules/advisor", "modules/operator", "tools"}},
		"a page":                 {[]string{"docs/install.md"}, []string{"tools"}},
		"a chart":                {[]string{"charts/karpenter/values.yaml"}, all},
		"the API's description":  {[]string{"docs/install.md", "openapi/linode.yaml"}, all},
		"nothing":                {nil, nil},
		"tools":                  {[]string{"tools/ci/doc.go"}, []string{"tools"}},
		"a name that is similar": {[]string{"modules/linodes/x.go"}, all},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := plan(t, c.files...)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
