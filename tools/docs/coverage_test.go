package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// goSources are the texts of a file or of all files below a folder, tests left out.
func goSources(t *testing.T, path string) (texts []string) {
	t.Helper()
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// named lists what a pattern finds in the source, tests left out. path is a file or a folder.
func named(t *testing.T, path, pattern string) []string {
	t.Helper()
	var names []string
	for _, text := range goSources(t, filepath.Join(root, path)) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s has nothing that looks like %s", path, pattern)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// events are the pages about single symptoms. An event is explained in the page about its symptom.
const events = "docs/troubleshooting.md docs/pods-pending.md docs/nodeclaim-not-launched.md docs/class-not-ready.md docs/stuck-nodes.md"

// Each reason, event and error that a user can meet is explained in the page about it.
func TestWhatUsersMeetIsExplained(t *testing.T) {
	for _, test := range []struct{ what, path, pattern, page, before, after string }{
		{"reason of a LinodeNodeClass", "modules/nodeclass/v1alpha1/conditions.go", `\bReason\w+ += "(\w+)"`, "docs/class-not-ready.md", "`",
			"`"},
		{"reason of a NodeClaim that is not launched", "modules/operator/launches/verdict.go", `reason: +"(\w+)"`, "docs/nodeclaim-not-launched.md",
			"\n### ", "\n"},
		{"reason of a NodeClaim that is not launched", "modules/operator/cloudprovider/offered.go",
			`(?s)NewCreateError\([^"]*"[^"]*"[^"]*"(\w+)"`, "docs/nodeclaim-not-launched.md", "\n### ", "\n"},
		{"drift reason", "modules/operator/mode", `core.DriftReason += "(\w+)"`, "docs/drift.md", "`", "`"},
		{"drift reason", "modules/operator/cloudprovider/drift.go", `DriftReason += "(\w+)"`, "docs/drift.md", "`", "`"},
		{"setting in an error at start", "modules/operator/mode", `Name: "([A-Z_]+)"`, "docs/operator-not-ready.md", "`", ": "},
		{"setting in an error at start", "modules/operator/discovery", `Name: "([A-Z_]+)"`, "docs/operator-not-ready.md", "`", ": "},
		{"setting in an error at start", "modules/operator/options/options.go", `Name: "([A-Z_]+)"`, "docs/operator-not-ready.md", "`", ": "},
		{"setting in an error at start", "modules/operator/cmd/controller", `Name: "([A-Z_]+)"`, "docs/operator-not-ready.md", "`", ": "},
		{"outcome of a claim that an operator has to act on", "modules/operator/launches/verdict.go",
			`outcome: "(invalid|conflict|forbidden|not_found|plan_refused|error)"`, "docs/on-call.md", "`", "`"},
		{"event on a NodePool", "modules/operator/cloudprovider/events.go", `Event\w+ += "(\w+)"`, events, "`", "`"},
		{"event on a NodePool", "modules/operator/launches/verdict.go", `Event\w+ += "(\w+)"`, events, "`", "`"},
		{"event of the provider", "modules/operator/drain", `Reason: +"(\w+)"`, events, "`", "`"},
		{"event of the provider", "modules/operator/controllers", `Event\w+ += "(\w+)"`, events, "`", "`"},
		{"event of a mode", "modules/operator/mode", `Reason: +"(\w+)"`, events, "`", "`"},
		{"event of a mode", "modules/operator/mode", `Event\w+ += "(\w+)"`, events, "`", "`"},
		{"line of a log", "modules/operator/controllers/garbagecollection", `Info\("(released[^"]*|deleted[^"]*)"`, "docs/stuck-nodes.md", "`", "`"},
	} {
		text := ""
		for page := range strings.FieldsSeq(test.page) {
			text += read(t, page)
		}
		for _, name := range named(t, test.path, test.pattern) {
			if name == "FEATURE_GATES" {
				continue // core's words are checked for it; "another setting's name" in the page is about it
			}
			if !strings.Contains(text, test.before+name+test.after) {
				t.Errorf("%s: the %s %s is not explained", test.page, test.what, name)
			}
		}
	}
}

var (
	requestRow = regexp.MustCompile("(?m)^\\| `([A-Z]+) (/[^`]*)` \\| (.*?) \\|")
	callOf     = regexp.MustCompile(`\.([A-Z]\w+)[(),]`) // called, or handed on
	// The first operation that a method of the client names.
	clientMethod = regexp.MustCompile(`func \(c \*Client\) (\w+)\([^\n]*\n(?:[^}\n][^\n]*\n|\n)*?[^\n]*api\.Op(\w+)`)
)

// The table of requests in docs/token-scopes.md has exactly what the operator calls, with the scopes of the API's
// description.
func TestTokenScopes(t *testing.T) {
	var description struct {
		Paths map[string]map[string]struct {
			OperationID string                `json:"operationId"`
			Security    []map[string][]string `json:"security"`
		} `json:"paths"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "openapi/linode.yaml")), &description); err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range requestRow.FindAllStringSubmatch(read(t, "docs/token-scopes.md"), -1) {
		o, ok := description.Paths[m[2]][strings.ToLower(m[1])]
		if !ok {
			t.Errorf("%s %s is not described in openapi/linode.yaml", m[1], m[2])
			continue
		}
		documented[o.OperationID] = true
		scope := "none"
		for _, s := range o.Security {
			if oauth := s["oauth"]; len(oauth) > 0 {
				scope = "`" + strings.Join(oauth, "` and `") + "`"
			}
		}
		if m[3] != scope {
			t.Errorf("%s %s takes the scope %s, the page says %s", m[1], m[2], scope, m[3])
		}
	}
	for _, method := range operatorCalls(t) {
		if !documented[method] {
			t.Errorf("the operator calls %s, which the page does not list", method)
		}
		delete(documented, method)
	}
	for method := range documented {
		t.Errorf("the page lists %s, which the operator does not call", method)
	}
}

// operatorCalls are the operations behind the methods of the API client that the operator and the engine's backend
// call.
func operatorCalls(t *testing.T) []string {
	t.Helper()
	client := map[string]string{} // method of the client: operation
	for _, m := range clientMethod.FindAllStringSubmatch(read(t, "modules/linode/operations.gen.go"), -1) {
		client[m[1]] = strings.ToLower(m[2][:1]) + m[2][1:]
	}
	delete(client, "GetConfig") // controller-runtime's
	var operations []string
	for _, folder := range []string{"modules/operator", "modules/advisor", "modules/lkepool/lke", "modules/instances/linodeapi"} {
		for _, method := range named(t, folder, callOf.String()) {
			if operation := client[method]; operation != "" {
				operations = append(operations, operation)
			}
		}
	}
	slices.Sort(operations)
	return slices.Compact(operations)
}

// Every resource that the chart gives the controller a right to has its reason in docs/cluster-rights.md. The page has no other.
func TestRightsAreExplained(t *testing.T) {
	granted := map[string]bool{}
	values := "{apiToken: a, region: us-ord, verticalPodAutoscalerRights: true, settings: {clusterName: a, mode: instance, " +
		"surgeBeforeDrain: true, instance: {approveServingCertificates: true}, " +
		"schedulerConfig: {podTopologySpread: {defaultConstraints: [{maxSkew: 1}]}}, " +
		"featureGates: {nodeOverlay: true, capacityBuffer: true, podDeletionCostManagement: true}}}"
	texts := renders(t, values)
	clusterAPI := "{apiToken: a, region: us-ord, settings: {clusterName: a, mode: clusterapi, clusterAPI: {namespace: a}}}"
	for name, text := range renders(t, clusterAPI) {
		if strings.HasSuffix(name, "/clusterapi-rbac.yaml") {
			texts[name] = text
		}
	}
	for name, text := range texts {
		if !strings.HasSuffix(name, "/clusterrole.yaml") && !strings.HasSuffix(name, "/role.yaml") &&
			!strings.HasSuffix(name, "/instance-rbac.yaml") && !strings.HasSuffix(name, "/clusterapi-rbac.yaml") {
			continue
		}
		for document := range strings.SplitSeq(text, "\n---") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					granted[resource] = true
				}
			}
		}
	}
	_, section, _ := strings.Cut(read(t, "docs/cluster-rights.md"), "\n## Rights in the cluster\n")
	section, _, _ = strings.Cut(section, "\n## ")
	explained := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+(?:/[a-z]+)?)`").FindAllStringSubmatch(section, -1) {
		explained[m[1]] = true
	}
	for resource := range granted {
		if !explained[resource] {
			t.Errorf("docs/cluster-rights.md does not say what the right to %s is for", resource)
		}
	}
	for resource := range explained {
		if !granted[resource] && resource != "admin" && resource != "view" {
			t.Errorf("docs/cluster-rights.md explains a right to %s, which the chart does not give", resource)
		}
	}
	if len(granted) < 15 {
		t.Errorf("only rights to %d resources were found", len(granted))
	}
}
