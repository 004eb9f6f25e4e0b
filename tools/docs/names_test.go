package docs_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/tools/docs/reference"
)

// mentioned lists what a pattern finds in the guides, code included, with the first page that has it.
func mentioned(t *testing.T, pattern string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range guides(t) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(p.text, -1) {
			if found[m[1]] == "" {
				found[m[1]] = p.path
			}
		}
	}
	return found
}

// unknown reports names that are mentioned and do not exist.
func unknown(t *testing.T, what string, names map[string]string, exists func(string) bool) {
	t.Helper()
	if len(names) < 5 {
		t.Errorf("only %d %ss are mentioned: the pattern is wrong", len(names), what)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !exists(name) {
			t.Errorf("%s: there is no %s %s", names[name], what, name)
		}
	}
}

func TestMetricsExist(t *testing.T) {
	core, err := reference.CoreMetrics()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range append(core, reference.OwnMetrics()...) {
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			known[m.Name+suffix] = true
		}
	}
	names := mentioned(t, `\b((?:karpenter|controller_runtime|leader_election|workqueue)_[a-z0-9_]*[a-z0-9])\b`)
	unknown(t, "metric", names, func(name string) bool {
		return known[name] || name == "controller_runtime" || name == "karpenter_linode" // a library, and the file of the kubectl plugin
	})
}

// Every replica exports what a NodePool costs, so a sum without max by counts it as often as there are replicas.
func TestSumsOfCostCountANodePoolOnce(t *testing.T) {
	for _, p := range guides(t) {
		if regexp.MustCompile(`sum\( ?karpenter_nodepools_cost_total`).MatchString(p.text) {
			t.Errorf("%s sums karpenter_nodepools_cost_total over replicas", p.path)
		}
	}
}

func TestVariablesExist(t *testing.T) {
	known := map[string]bool{
		// Of the shell in the examples, of make and Go, and of the programs for development.
		"KARPENTER_NAMESPACE": true, "CGO_ENABLED": true, "LINODE_EXCHANGES": true, "GOMAXPROCS": true, "KUBEBUILDER_ASSETS": true,
		"AGENT_TOKEN": true, "KUBELET_EXTRA_ARGS": true, // of the shell in an example, and of the kubelet's packages
		"KARPENTER_METRICS": true, "LINODESIM_ADMIN": true, // of the local cluster, supervisor.Info.Exports
		"LIVE_LINODE_TOKEN": true, "LIVE_CLUSTER_STANDARD": true, "LIVE_CLUSTER_ENTERPRISE": true, "LIVE_FLAGS": true, // of the workflow live
		// Of linode-cli, in the simulator's page.
		"USE_CSV_PROVIDER": true, "CSV_PATH": true, // of OpenCost
		"LINODE_CLI_TOKEN": true, "LINODE_CLI_API_SCHEME": true, "LINODE_CLI_API_HOST": true, "LINODE_CLI_API_VERSION": true,
	}
	for _, name := range bootstrap.Variables() { // of custom user data
		known[name] = true
	}
	for _, d := range append(options.Describe(), options.DescribeCore()...) {
		for _, variable := range d.Variables {
			known[variable] = true
		}
	}
	environment := regexp.MustCompile(`"?\b([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b`)
	for _, m := range environment.FindAllStringSubmatch(read(t, "charts/karpenter/templates/_env.tpl"), -1) {
		known[m[1]] = true
	}
	joining := read(t, "docs/joining-custom.md")
	for _, name := range bootstrap.Variables() {
		if !strings.Contains(joining, "| `"+name+"` |") {
			t.Errorf("docs/joining-custom.md: the table of variables lacks %s", name)
		}
	}
	unknown(t, "variable", mentioned(t, `(?:^|[\s"'$(\x60{-])([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b`),
		func(name string) bool { return known[name] })
}

func TestChartValuesExist(t *testing.T) {
	schema := map[string]any{}
	if err := yaml.Unmarshal([]byte(read(t, "charts/karpenter/values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	names := mentioned(t, `--set ([a-zA-Z]+(?:\.[a-zA-Z]+)*)=`)
	maps.Copy(names, mentioned(t, "`((?:settings|controller|serviceMonitor|prometheusRule|grafanaDashboard|networkPolicy|"+
		"podDisruptionBudget|serviceAccount)\\.[a-zA-Z.]*[a-zA-Z])"))
	unknown(t, "value", names, func(name string) bool {
		at := schema
		for part := range strings.SplitSeq(name, ".") {
			properties, _ := at["properties"].(map[string]any)
			next, ok := properties[part].(map[string]any)
			if !ok {
				return len(properties) == 0 && at["type"] == "object" // an object of Kubernetes, such as resources
			}
			at = next
		}
		return true
	})
}

// Names below the domains of Karpenter, this provider and Linode that the pages mention are also in the code.
func TestLabelsExist(t *testing.T) {
	literals := sourceLiterals(t)
	tags := []string{"claim-uid", "claimed-at", "pool-key", "removing", "retired"} // package claims puts its prefix before them
	known := map[string]bool{
		karpv1.NodePoolLabelKey: true, karpv1.CapacityTypeLabelKey: true, karpv1.DoNotDisruptAnnotationKey: true,
		karpv1.DoNotRepairAnnotationKey: true, karpv1.DisruptionCostAnnotationKey: true, karpv1.RebootingTaintKey: true,
		karpv1.UnregisteredTaintKey: true, karpv1.DisruptedTaintKey: true, karpv1.TerminationFinalizer: true,
		karpv1.NodeRegisteredLabelKey: true, karpv1.NodeInitializedLabelKey: true,
		"lke.linode.com/pool-id": true, // LKE puts it on its nodes
		"karpenter.sh/v1":        true, "karpenter.sh/v1alpha1": true,
	}
	names := mentioned(t, `(?m)(?:^|[^.\w])((?:karpenter\.k8s\.linode|karpenter\.sh|lke\.linode\.com`+
		`|node\.k8s\.linode\.com)/[a-z0-9-]*[a-z0-9])\b`)
	unknown(t, "label, annotation or tag", names, func(name string) bool {
		group, rest, _ := strings.Cut(name, "/")
		return known[name] || literals[name] ||
			(group == "karpenter.k8s.linode" && (literals["/"+rest] || literals[rest] && slices.Contains(tags, rest))) ||
			name == "karpenter.k8s.linode/instance" // followed by -*
	})
}

// sourceLiterals are the texts in the modules' programs, without what a format or an equals sign follows.
func sourceLiterals(t *testing.T) map[string]bool {
	t.Helper()
	literal, found := regexp.MustCompile(`"([^"\n]*)"`), map[string]bool{}
	for _, text := range goSources(t, filepath.Join(root, "modules")) {
		for _, m := range literal.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(m[1], "=")
			found[name] = true
		}
	}
	found["karpenter.k8s.linode/v1alpha1"] = true // group and version are separate in the source
	return found
}
