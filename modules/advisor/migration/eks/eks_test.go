package eks_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/migration/eks"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

var update = flag.Bool("update", false, "write the golden files")

func translate(t *testing.T, input string) string {
	t.Helper()
	var out bytes.Buffer
	if err := eks.Translate(&out, strings.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// This provider accepts the output: no unknown field, and plans for each NodePool.
func TestAnEKSClustersObjects(t *testing.T) {
	for name, c := range map[string]struct {
		golden string
		plans  map[string]func(catalog.Plan) bool // that each NodePool selects, beside own labels of the user's
	}{
		"eks.yaml": {"linode.yaml", map[string]func(catalog.Plan) bool{"general": withoutGPU}},
		"getting-started.yaml": {"getting-started-linode.yaml", map[string]func(catalog.Plan) bool{
			"default": withoutGPU, "gpu": func(p catalog.Plan) bool { return p.GPUs == 1 }, "without-gpu": withoutGPU,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			input, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			got := translate(t, string(input))
			if *update {
				if err := os.WriteFile("testdata/"+c.golden, []byte(got), 0o644); err != nil { //nolint:gosec // a source file
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile("testdata/" + c.golden)
			if err != nil || got != string(want) {
				t.Errorf("%v\n%s", err, got)
			}
			for _, document := range strings.Split(got, "\n---\n") {
				if strings.Contains(document, "kind: "+v1alpha1.Kind+"\nmetadata") {
					if err := yaml.UnmarshalStrict([]byte(document), &v1alpha1.LinodeNodeClass{}); err != nil {
						t.Error(err)
					}
				}
			}
			s, err := snapshot.Read(strings.NewReader(got))
			if err != nil || len(s.NodePools) != len(c.plans) || len(s.NodeClasses) != 1 {
				t.Fatalf("%v: %+v", err, s)
			}
			for _, nodePool := range s.NodePools {
				selects(t, nodePool, c.plans[nodePool.Name])
			}
		})
	}
}

func withoutGPU(p catalog.Plan) bool { return p.GPUs == 0 }

// selects checks that the requirements of a NodePool select plans, and only plans of this kind.
func selects(t *testing.T, nodePool *karpv1.NodePool, kind func(catalog.Plan) bool) {
	t.Helper()
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	plans, err := catalog.Plans(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	market := catalog.NewCatalog(list, catalog.Config{Region: "us-ord"})
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	wanted := slices.DeleteFunc(slices.Clone(nodePool.Spec.Template.Spec.Requirements),
		func(r karpv1.NodeSelectorRequirementWithMinValues) bool { return r.Key == "example.com/tier" })
	requirements := scheduling.NewNodeSelectorRequirementsWithMinValues(wanted...)
	selected := 0
	for _, it := range market.InstanceTypes(nil) {
		if it.Requirements.Intersects(requirements) != nil {
			continue
		}
		selected++
		i := slices.IndexFunc(plans, func(p catalog.Plan) bool { return p.ID == it.Name })
		if i < 0 || !kind(plans[i]) {
			t.Errorf("NodePool %s selects %s", nodePool.Name, it.Name)
		}
	}
	if selected == 0 {
		t.Errorf("NodePool %s selects no plan: %v", nodePool.Name, requirement.Unmet(wanted, market.InstanceTypes(nil)))
	}
}

const none = "requirements: []"

func TestRequirements(t *testing.T) {
	const ours = "karpenter.k8s.linode/instance-"
	for name, c := range map[string]struct{ key, operator, values, want string }{
		"only spot": {"karpenter.sh/capacity-type", "In", "[spot]", "key: karpenter.sh/capacity-type\n operator: In\n values: [on-demand]"},
		"not spot":  {"karpenter.sh/capacity-type", "NotIn", "[spot]", none},
		"on-demand": {"karpenter.sh/capacity-type", "In", "[on-demand]", "values: [on-demand]"},
		"arm alone": {"kubernetes.io/arch", "In", "[arm64]", "values: [amd64]"},
		"instance types": {"node.kubernetes.io/instance-type", "In", "[m5.large, c5.4xlarge, m6i.large]",
			ours + "cpu\n operator: In\n values: [\"2\", \"16\"]"},
		"bare metal":        {"node.kubernetes.io/instance-type", "In", "[m5.metal]", none},
		"families":          {"karpenter.k8s.aws/instance-family", "In", "[m5, r6i, trn1, mac2]", "values: [standard, highmem]"},
		"sizes":             {"karpenter.k8s.aws/instance-size", "In", "[large, xlarge, 2xlarge]", `values: ["2", "4", "8"]`},
		"memory":            {"karpenter.k8s.aws/instance-memory", "Gt", `["8191"]`, ours + "memory\n operator: Gt\n values: [\"8191\"]"},
		"auto mode's label": {"eks.amazonaws.com/instance-cpu", "In", `["4"]`, ours + "cpu"},
		"GPU count":         {"karpenter.k8s.aws/instance-gpu-count", "In", `["1"]`, ours + "gpu-count"},
		"a GPU's name":      {"karpenter.k8s.aws/instance-gpu-name", "In", "[t4]", ours + "gpu-name\n operator: Exists"},
		"not a GPU's name":  {"karpenter.k8s.aws/instance-gpu-name", "NotIn", "[t4]", none},
		"no GPU":            {"karpenter.k8s.aws/instance-gpu-memory", "DoesNotExist", "[]", ours + "gpu-name\n operator: DoesNotExist"},
		"a GPU's maker":     {"karpenter.k8s.aws/instance-gpu-manufacturer", "In", "[nvidia]", ours + "gpu-name\n operator: Exists"},
		"a GPU's memory":    {"karpenter.k8s.aws/instance-gpu-memory", "Gt", `["15000"]`, ours + "gpu-name\n operator: Exists"},
		"types with a GPU": {"node.kubernetes.io/instance-type", "In", "[g5.4xlarge, p3.2xlarge]",
			ours + "class\n operator: In\n values: [gpu]"},
		"no class with GPU": {"karpenter.k8s.aws/instance-category", "NotIn", "[p, g, t]", ours + "class\n operator: NotIn\n values: [gpu]"},
		"not one family":    {"karpenter.k8s.aws/instance-family", "NotIn", "[g4dn]", none},
		"an own label":      {"example.com/a", "Exists", "[]", "key: example.com/a"},
	} {
		t.Run(name, func(t *testing.T) {
			out := translate(t, fmt.Sprintf("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"+
				"spec: {template: {spec: {requirements: [{key: %s, operator: %s, values: %s}]}}}", c.key, c.operator, c.values))
			flat := strings.ReplaceAll(out, "          ", " ")
			if !strings.Contains(flat, c.want) {
				t.Errorf("no %q in\n%s", c.want, out)
			}
			if c.want == none && !strings.Contains(out, "# not translated: {key: ") {
				t.Errorf("no reason in\n%s", out)
			}
		})
	}
}

func TestFieldsOfAClassWithoutACounterpart(t *testing.T) {
	for name, c := range map[string]struct{ spec, want, not string }{
		"a tag of core's":     {`tags: {karpenter.sh/discovery: demo}`, "# not translated: tag karpenter.sh/discovery=demo\n#   this key is", "tags:"},
		"a tag of Kubernetes": {`tags: {kubernetes.io/cluster/demo: owned}`, "#   this key is", "tags:"},
		"a tag of LKE's":      {`tags: {lke123: ""}`, "#   this key is", "tags:"},
		"a space at the end":  {`tags: {team: "web "}`, "#   a Linode tag has no spaces at its ends", "tags:"},
		"a line feed":         {`tags: {team: "a\nb: c"}`, "# not translated: tag team=a b: c\n", "tags:"},
		"a tag of the user's": {`tags: {team: web}`, "tags: [team=web]", "not translated"},
		"private nodes":       {`associatePublicIPAddress: false`, "#   only LKE Enterprise has nodes without public addresses", "\n  isolation"},
		"public nodes":        {`associatePublicIPAddress: true`, "#   a Linode has a public address without it", "\n  isolation"},
	} {
		t.Run(name, func(t *testing.T) {
			out := translate(t, "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec: {"+c.spec+"}")
			if !strings.Contains(out, c.want) || strings.Contains(out, c.not) {
				t.Errorf("want %q, not %q, in\n%s", c.want, c.not, out)
			}
		})
	}
}

func TestJSONListsAreRead(t *testing.T) {
	out := translate(t, `{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "a"}, "spec": {"role": "x"}},
		{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "b"}}]}`)
	if strings.Count(out, "kind: LinodeNodeClass") != 2 || strings.Contains(out, `"kind"`) {
		t.Error(out)
	}
}

func TestOtherKindsAreRefused(t *testing.T) {
	for want, input := range map[string]string{
		"convert it to v1":      "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: a}",
		"Pod a of \"v1\"":       "apiVersion: v1\nkind: Pod\nmetadata: {name: a}",
		"no NodePool and no EC": "# nothing",
		"reading YAML":          "a: [",
	} {
		if err := eks.Translate(&bytes.Buffer{}, strings.NewReader(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
