package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// versionIn are the places where a page or a file has the version that a user installs.
var versionIn = regexp.MustCompile(`(?m)\bVERSION=(\d+\.\d+\.\d+)\b|^\s*version\s*=\s*"(\d+\.\d+\.\d+)"|^\s*targetRevision: (\d+\.\d+\.\d+)\b|^\s*tag: (\d+\.\d+\.\d+)\b`)

// Charts, changelog, pages and policy have one version, and the page about releases names each file that has it.
func TestTheVersionIsTheSameEverywhere(t *testing.T) {
	var chart struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "charts/karpenter/Chart.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	version := chart.Version
	for _, file := range []string{"charts/karpenter/Chart.yaml", "charts/karpenter-crd/Chart.yaml"} {
		for _, line := range []string{"version: " + version, "appVersion: " + version} {
			if !strings.Contains(read(t, file), "\n"+line+"\n") {
				t.Errorf("%s has no line %q", file, line)
			}
		}
	}
	changelog := read(t, "CHANGELOG.md")
	headings := regexp.MustCompile(`(?m)^## \[([^\]]+)\]`).FindAllStringSubmatch(changelog, 2)
	if len(headings) != 2 || headings[0][1] != "Unreleased" || headings[1][1] != version {
		t.Errorf("CHANGELOG.md begins with the sections %q, expected Unreleased and %s", headings, version)
	}
	for _, link := range []string{"\n[Unreleased]: ", "/compare/v" + version + "...HEAD\n", "\n[" + version + "]: "} {
		if !strings.Contains(changelog, link) {
			t.Errorf("CHANGELOG.md has no link with %q", link)
		}
	}
	for file, least := range map[string]int{"README.md": 1, "docs/install.md": 1, "docs/install-gitops.md": 4, "docs/instance-mode.md": 1} {
		found := versionIn.FindAllStringSubmatch(read(t, file), -1)
		if len(found) < least {
			t.Errorf("%s: only %d versions were found", file, len(found))
		}
		for _, m := range found {
			if got := strings.Join(m[1:], ""); got != version {
				t.Errorf("%s has %s, the chart %s", file, got, version)
			}
		}
	}
	minor := version[:strings.LastIndex(version, ".")]
	if !strings.Contains(read(t, "SECURITY.md"), "| "+minor) {
		t.Errorf("the table of SECURITY.md has no %s", minor)
	}
	releasing := read(t, "RELEASING.md")
	for _, named := range []string{"`CHANGELOG.md`", "both `Chart.yaml`", "`README.md`", "`docs/install.md`",
		"`docs/install-gitops.md`", "`docs/instance-mode.md`",
		"`SECURITY.md`",
		"`docs/upgrades.md`", "`docs/plans.md`", "`make generate`"} {
		if !strings.Contains(releasing, named) {
			t.Errorf("RELEASING.md does not name %s", named)
		}
	}
}

// A chart of a clone names an image of the clone's version, which a user's cluster cannot pull. Helm takes the newest chart of a registry
// if no version is given.
func TestUpgradesNameChartAndVersion(t *testing.T) {
	checked := 0
	for _, p := range guides(t) {
		for _, b := range p.blocks {
			for line := range strings.SplitSeq(strings.ReplaceAll(b.text, "\\\n", ""), "\n") {
				if !strings.HasPrefix(strings.TrimSpace(line), "helm upgrade ") {
					continue
				}
				checked++
				if !strings.Contains(line, `"$CHARTS/karpenter`) || !strings.Contains(line, `--version "$VERSION"`) {
					t.Errorf("%s: %s", p.path, line)
				}
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d upgrades were found", checked)
	}
}

var (
	setValue    = regexp.MustCompile(` --set \S+`)
	shellRemark = regexp.MustCompile(`\s+# .*`)
)

// Both ways to install have the same commands; only the values that they set differ.
func TestBothModesAreInstalledWithTheSameCommands(t *testing.T) {
	commands := func(name string) (lines []string) {
		for _, b := range parse(name, read(t, name)).blocks {
			if !strings.Contains(b.text, "helm upgrade --install karpenter ") {
				continue
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
				line = shellRemark.ReplaceAllString(setValue.ReplaceAllString(strings.Join(strings.Fields(line), " "), ""), "")
				if line != "" && !strings.HasPrefix(line, "#") {
					lines = append(lines, line)
				}
			}
			return lines
		}
		t.Fatalf("%s installs nothing", name)
		return nil
	}
	lke, instance := strings.Join(commands("docs/install.md"), "\n"), strings.Join(commands("docs/instance-mode.md"), "\n")
	if lke != instance {
		t.Errorf("install.md:\n%s\ninstance-mode.md:\n%s", lke, instance)
	}
}
