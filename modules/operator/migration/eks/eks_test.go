package eks_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/migration/eks"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/requirement"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/snapshot"
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

func TestAnEKSClustersObjects(t *testing.T) {
	input, err := os.ReadFile("testdata/eks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := translate(t, string(input))
	if *update {
		if err := os.WriteFile("testdata/linode.yaml", []byte(got), 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/linode.yaml")
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
	// What came out is what this provider accepts: no unknown field, and a plan for the NodePool.
	for _, document := range strings.Split(got, "\n---\n") {
		if strings.Contains(document, "kind: "+v1alpha1.Kind+"\nmetadata") {
			if err := yaml.UnmarshalStrict([]byte(document), &v1alpha1.LinodeNodeClass{}); err != nil {
				t.Error(err)
			}
		}
	}
	s, err := snapshot.Read(strings.NewReader(got))
	if err != nil || len(s.NodePools) != 1 || len(s.NodeClasses) != 1 {
		t.Fatalf("%v: %+v", err, s)
	}
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	catalog := instancetype.NewCatalog(list, instancetype.Config{Region: "us-ord"})
	if err := catalog.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	wanted := s.NodePools[0].Spec.Template.Spec.Requirements
	if err := requirement.Unmet(wanted[:len(wanted)-1], catalog.InstanceTypes(nil)); err != nil { // the last is a label of the user's
		t.Error(err)
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
		"a GPU's name":      {"karpenter.k8s.aws/instance-gpu-name", "In", "[t4]", none},
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
