package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/requirement"
)

// coreSource is the source of Karpenter core's scheduling, of the version in go.mod, tests left out.
func coreSource(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter").Output()
	if err != nil {
		t.Fatal(err)
	}
	core := filepath.Join(strings.TrimSpace(string(dir)), "pkg")
	return strings.Join(slices.Concat(goSources(t, filepath.Join(core, "controllers", "provisioning")),
		goSources(t, filepath.Join(core, "scheduling"))), "\n")
}

var quoted = regexp.MustCompile("`([^`]+)`")

// A user searches the page for the text of an event; a text that this version of core does not have helps no user.
func TestTextsOfCoreAreThoseOfItsSource(t *testing.T) {
	source, page := coreSource(t), read(t, "docs/troubleshooting.md")
	_, section, found := strings.Cut(page, "| text in the event `FailedScheduling` |")
	section, _, end := strings.Cut(section, "\n\n")
	if !found || !end {
		t.Fatal("the table of core's texts is not there")
	}
	texts := []string{"Failed to schedule pod,", "no dynamic nodepools found"} // around the table
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1], "`") {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				texts = append(texts, m[1])
			}
		}
	}
	if len(texts) < 12 {
		t.Errorf("only %d texts were found", len(texts))
	}
	for _, text := range texts {
		if !strings.Contains(page, "`"+text+"`") || !strings.Contains(source, text) {
			t.Errorf("docs/troubleshooting.md quotes %q, which Karpenter core's scheduling does not have", text)
		}
	}
	// What a pod can be refused for at a new node, in both directions: these texts have a row.
	for _, m := range regexp.MustCompile(`errs\[i\] = serrors\.Wrap\(fmt\.Errorf\("([^"]+)"\)`).FindAllStringSubmatch(source, -1) {
		if !strings.Contains(section, m[1]) {
			t.Errorf("docs/troubleshooting.md has no row for %q", m[1])
		}
	}
}

// The table of labels in the guide has the operator's advice.
func TestLabelsOfOtherProvidersAreThoseThatTheOperatorNames(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/migrating.md"), "\n| their label | here |\n")
	if !found {
		t.Fatal("the table is not there")
	}
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "--") {
			if strings.TrimSpace(line) == "" {
				break
			}
			continue
		}
		want := ""
		if m := quoted.FindStringSubmatch(cells[2]); m != nil {
			want = m[1]
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			rows++
			if ours, elsewhere := requirement.Equivalent(m[1]); !elsewhere || ours != want {
				t.Errorf("docs/migrating.md has %s for %s, the operator %q", want, m[1], ours)
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d labels were found", rows)
	}
}
