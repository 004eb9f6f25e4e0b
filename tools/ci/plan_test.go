package ci_test

import (
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/ci"
)

const root = "../.."

func TestAChangeConcernsItsModuleAndThoseThatRequireIt(t *testing.T) {
	modules, err := ci.Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"modules/instances", "modules/linode", "modules/linodesim", "modules/lkepool", "modules/nodeclass", "modules/operator", "tools"}
	for name, c := range map[string]struct{ files, want []string }{
		"a leaf":                 {[]string{"modules/nodeclass/README.go"}, []string{"modules/nodeclass", "modules/operator", "tools"}},
		"the client":             {[]string{"modules/linode/client.go"}, []string{"modules/instances", "modules/linode", "modules/linodesim", "modules/lkepool", "modules/operator", "tools"}},
		"the operator":           {[]string{"modules/operator/options/options.go"}, []string{"modules/operator", "tools"}},
		"a page":                 {[]string{"docs/install.md"}, []string{"tools"}},
		"a chart":                {[]string{"charts/karpenter/values.yaml"}, all},
		"the API's description":  {[]string{"docs/install.md", "openapi/linode.yaml"}, all},
		"nothing":                {nil, nil},
		"tools":                  {[]string{"tools/ci/plan.go"}, []string{"tools"}},
		"a name that is similar": {[]string{"modules/linodes/x.go"}, all},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ci.Concerned(modules, c.files); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSuitesHaveATier(t *testing.T) {
	suites, err := ci.Suites(root + "/tools/e2e")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []ci.Suite{{"everyday", "standard"}, {"everyday", "enterprise"}, {"features", "standard"}, {"drift", "enterprise"}} {
		if !slices.Contains(suites, want) {
			t.Errorf("no suite %v among %v", want, suites)
		}
	}
}
