package charttest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const dashboardFile = "../../charts/karpenter/files/dashboard.json"

// errorAt is how the compiler names the file of an error.
var errorAt = regexp.MustCompile(`(?m)^(\w+)\.ts\(\d+,\d+\): error (.*)$`)

// The dashboard is of Grafana's own schema, and has no field, kind of panel, option or value that Grafana does not have.
func TestTheDashboardIsOfGrafanasSchema(t *testing.T) {
	folder := grafanaSchema(t)
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	// Each of these changes one thing of the dashboard to what Grafana does not have.
	panel := firstOf(t, text, "timeseries")
	wrong := map[string]func(d map[string]any){
		"dashboardField":  func(d map[string]any) { d["titel"] = "" },
		"dashboardType":   func(d map[string]any) { d["schemaVersion"] = "39" },
		"variableType":    func(d map[string]any) { at(d, "templating", "list", 1)["type"] = "querry" },
		"variableRefresh": func(d map[string]any) { at(d, "templating", "list", 1)["refresh"] = 7 },
		"panelField":      func(d map[string]any) { at(d, "panels", panel)["gridpos"] = map[string]any{} },
		"panelType":       func(d map[string]any) { at(d, "panels", panel)["type"] = "timeserie" },
		"panelOption":     func(d map[string]any) { at(d, "panels", panel, "options")["legends"] = map[string]any{} },
		"legendMissing":   func(d map[string]any) { delete(at(d, "panels", panel, "options", "legend"), "showLegend") },
		"legendPlacement": func(d map[string]any) { at(d, "panels", panel, "options", "legend")["placement"] = "left" },
		"tooltipMode":     func(d map[string]any) { at(d, "panels", panel, "options", "tooltip")["mode"] = "all" },
		"fieldDefault":    func(d map[string]any) { at(d, "panels", panel, "fieldConfig", "defaults")["units"] = "s" },
		"fieldCustom": func(d map[string]any) {
			at(d, "panels", panel, "fieldConfig", "defaults")["custom"] = map[string]any{"fill": 1}
		},
		"dataSource":  func(d map[string]any) { at(d, "panels", panel, "datasource")["type"] = "promtheus" },
		"queryField":  func(d map[string]any) { at(d, "panels", panel, "targets", 0)["expression"] = "up" },
		"queryFormat": func(d map[string]any) { at(d, "panels", panel, "targets", 0)["format"] = "tables" },
		"queryless":   func(d map[string]any) { delete(at(d, "panels", panel, "targets", 0), "expr") },
	}
	write(t, folder, "asitis", text)
	for name, change := range wrong {
		var d map[string]any
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		change(d)
		changed, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		write(t, folder, name, changed)
	}
	command := exec.CommandContext(t.Context(), "node", "node_modules/typescript/bin/tsc", "-p", ".")
	command.Dir = folder
	printed, err := command.CombinedOutput()
	if err == nil {
		t.Fatal("the compiler finds nothing wrong with dashboards that are wrong")
	}
	found := map[string]string{}
	for _, complaint := range errorAt.FindAllStringSubmatch(string(printed), -1) {
		found[complaint[1]] += complaint[2] + "\n"
	}
	if complaints := found["asitis"]; complaints != "" {
		t.Errorf("charts/karpenter/files/dashboard.json:\n%s", complaints)
	}
	for name := range wrong {
		if found[name] == "" {
			t.Errorf("nothing is found wrong with the change %s; printed:\n%s", name, printed)
		}
		delete(found, name)
	}
	delete(found, "asitis")
	if len(found) > 0 {
		t.Errorf("errors elsewhere: %v", found)
	}
}

// grafanaSchema returns a folder with the schema's packages and the type of our dashboards. It skips the test where there
// is no npm to install them with, but not where REQUIRE_NPM is set, as in the workflows.
func grafanaSchema(t *testing.T) string {
	t.Helper()
	if printed, err := exec.CommandContext(t.Context(), "../make/npm.sh", "tools/grafana/schema").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	installed, err := filepath.Abs("../../.bin/npm/schema")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(installed, "installed")); err != nil {
		t.Skip("SKIPPED: Grafana's schema is not on this machine; tools/make/npm.sh installs it where there is npm")
	}
	folder := t.TempDir()
	for _, name := range []string{"dashboard.ts", "tsconfig.json", "node_modules"} {
		if err := os.Symlink(filepath.Join(installed, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// firstOf returns the index of the first panel of a type.
func firstOf(t *testing.T, dashboard []byte, kind string) int {
	t.Helper()
	var d struct{ Panels []struct{ Type string } }
	if err := json.Unmarshal(dashboard, &d); err != nil {
		t.Fatal(err)
	}
	for i, panel := range d.Panels {
		if panel.Type == kind {
			return i
		}
	}
	t.Fatalf("the dashboard has no panel of the type %s", kind)
	return 0
}

// write writes a dashboard as a literal of the type that it must have.
func write(t *testing.T, folder, name string, dashboard []byte) {
	t.Helper()
	text := fmt.Sprintf("import type { Dashboard } from './dashboard';\nexport const dashboard: Dashboard = %s;\n",
		strings.TrimSpace(string(dashboard)))
	if err := os.WriteFile(filepath.Join(folder, name+".ts"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// at returns the object at a path of names and indexes.
func at(object any, path ...any) map[string]any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object = object.(map[string]any)[step]
		case int:
			object = object.([]any)[step]
		}
	}
	return object.(map[string]any)
}
