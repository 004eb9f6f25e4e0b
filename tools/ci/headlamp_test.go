package ci_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// show prints the entry, and its columns and rows of a class.
const show = `
import { LINODE, LINODE_CRD, linodeInfo } from './linode.mjs';
const item = { _clusterName: 'here', jsonData: JSON.parse(process.argv[2]) };
const columns = LINODE.columns.filter(column => typeof column !== 'string').map(({ label, getValue }) => [label, getValue(item)]);
const rows = linodeInfo(item).map(({ name, value }) => [name, value]);
console.log(JSON.stringify({ crd: LINODE_CRD, ...LINODE, columns: Object.fromEntries(columns), rows: Object.fromEntries(rows) }));
`

type headlampEntry struct {
	CRD, Group, Version, Kind, SingularName, PluralName, APIVersion string
	Columns, Rows                                                   map[string]string
}

// Headlamp's entry has the names of the definition, and shows what a class has.
func TestHeadlamp(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("REQUIRE_NPM") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: no Node.js on this machine")
	}
	folder := t.TempDir()
	source, err := os.ReadFile("../../contrib/headlamp/linode.ts")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"linode.mjs": string(source), "show.mjs": show} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(class string) (entry headlampEntry) {
		t.Helper()
		show := exec.CommandContext(t.Context(), node, filepath.Join(folder, "show.mjs"), class) //nolint:gosec // a test's own
		printed, err := show.CombinedOutput()
		if err == nil {
			err = json.Unmarshal(printed, &entry)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		return entry
	}
	crd := crds.CRDs[0]
	entry := read(`{}`)
	names := crd.Spec.Names
	if entry.CRD != crd.Name || entry.Group != crd.Spec.Group || entry.Version != crd.Spec.Versions[0].Name || entry.Kind != names.Kind ||
		entry.SingularName != names.Singular || entry.PluralName != names.Plural || entry.APIVersion != v1alpha1.Group+"/"+entry.Version {
		t.Errorf("the entry is %+v, the definition %+v", entry, names)
	}
	if entry.Columns["Status"] != "Not Ready" || entry.Columns["Image"] != "-" || entry.Rows["Refused by the Linode API"] != "-" {
		t.Errorf("of a class without anything: %+v", entry)
	}
	entry = read(`{"spec": {"image": "linode/debian12", "tags": ["a", "b"], "bootstrap": {"type": "k3s"}}, "status": {"kubernetesVersion": "1.35",
		"firewall": {"id": 7, "label": "workers"}, "conditions": [{"type": "Ready", "status": "False", "reason": "NotAuthorized", "message": "the token"},
		{"type": "LaunchesAccepted", "status": "False", "message": "no such image"}]}}`)
	for name, want := range map[string]string{
		"Cluster": "here", "Status": "NotAuthorized", "Kubernetes": "1.35", "Image": "linode/debian12", "Firewall": "workers",
	} {
		if entry.Columns[name] != want {
			t.Errorf("column %s shows %q, want %q", name, entry.Columns[name], want)
		}
	}
	for name, want := range map[string]string{"Message": "the token", "Refused by the Linode API": "no such image", "Bootstrap": "k3s",
		"Firewall": "workers (7)", "Tags": "a, b"} {
		if entry.Rows[name] != want {
			t.Errorf("row %s shows %q, want %q", name, entry.Rows[name], want)
		}
	}
	// The plugin reads only fields that the definition has.
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, read := range regexp.MustCompile(`\b(spec|status)\??\.([a-zA-Z]+)`).FindAllStringSubmatch(string(source), -1) {
		if _, there := schema.Properties[read[1]].Properties[read[2]]; !there {
			t.Errorf("a LinodeNodeClass has no %s.%s", read[1], read[2])
		}
	}
}
