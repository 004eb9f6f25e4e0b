package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// coreFolder is the folder of Karpenter core's packages, of the version in go.mod.
func coreFolder(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "pkg")
}

// coreSource returns the source of Karpenter core's scheduling and of its types, tests left out.
func coreSource(t *testing.T) string {
	t.Helper()
	var texts []string
	for _, folder := range []string{"controllers/provisioning", "scheduling", "cloudprovider", "apis/v1"} {
		texts = append(texts, goSources(t, filepath.Join(coreFolder(t), folder))...)
	}
	return strings.Join(texts, "\n")
}

// schedulingFiles of core make the errors that reach a pod's event FailedScheduling.
var schedulingFiles = []string{
	"controllers/provisioning/provisioner.go",
	"controllers/provisioning/scheduling/dra.go", "controllers/provisioning/scheduling/nodeclaim.go",
	"controllers/provisioning/scheduling/scheduler.go", "controllers/provisioning/scheduling/topology.go",
	"controllers/provisioning/scheduling/volumetopology.go",
	"scheduling/hostportusage.go", "scheduling/requirements.go", "scheduling/taints.go", "scheduling/volumeusage.go",
}

// unpublished are texts in schedulingFiles that no user of this provider meets in the event.
var unpublished = map[string]*regexp.Regexp{
	"a failed read of the API server, which is logged and repeated": regexp.MustCompile(
		`^(getting|listing|updating|tracking|parsing|creating|gathering|discovering|failed updating)\b`),
	"Linode sells no reserved capacity":               regexp.MustCompile(`reserved offering`),
	"Dynamic Resource Allocation is refused before":   regexp.MustCompile(`dynamic resource|^resourceclaim`),
	"the next kind of node is tried":                  regexp.MustCompile(`^failed scheduling pod to`),
	"the pod is not Karpenter's business, by its own": regexp.MustCompile(`^(ignoring pod|configured to not run on)`),
	"a name, a hint within another text, or a log line": regexp.MustCompile(
		`^(hostname-placeholder|label |failed to get|no nodepools found| \(typo of )`),
}

var errorText = regexp.MustCompile(`(?:fmt\.Errorf|fmt\.Sprintf|errors\.New)\("([^"%]{6,})`)

// Each reason for which core publishes FailedScheduling has a row, or a reason for having no row.
func TestTextsOfFailedSchedulingHaveARow(t *testing.T) {
	checked := 0
	var quotes []string
	for _, m := range quoted.FindAllStringSubmatch(parse("", read(t, "docs/pods-pending.md")).prose, -1) {
		if len(m[1]) > 10 {
			quotes = append(quotes, m[1])
		}
	}
	for _, file := range schedulingFiles {
		for _, m := range errorText.FindAllStringSubmatch(strings.Join(goSources(t, filepath.Join(coreFolder(t), file)), "\n"), -1) {
			text := strings.TrimSuffix(m[1], ", requirements=")
			checked++
			known := slices.ContainsFunc(quotes, func(quote string) bool { return strings.HasPrefix(text, quote) || strings.HasPrefix(quote, text) })
			for _, reason := range unpublished {
				known = known || reason.MatchString(text)
			}
			if !known {
				t.Errorf("docs/pods-pending.md has no row for %q of %s", text, file)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d texts were found", checked)
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// A user searches the page for the text of an event; a text that this version of core does not have helps no user.
func TestTextsOfCoreAreThoseOfItsSource(t *testing.T) {
	source, page := coreSource(t), read(t, "docs/pods-pending.md")
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
			t.Errorf("docs/pods-pending.md quotes %q, which Karpenter core's scheduling does not have", text)
		}
	}
	// Reasons for which a new node can refuse a pod, in both directions: each of these texts has a row.
	for _, m := range regexp.MustCompile(`errs\[i\] = serrors\.Wrap\(fmt\.Errorf\("([^"]+)"\)`).FindAllStringSubmatch(source, -1) {
		if !strings.Contains(section, m[1]) {
			t.Errorf("docs/pods-pending.md has no row for %q", m[1])
		}
	}
}

// The table of labels in the guide has the operator's advice.
func TestLabelsOfOtherProvidersAreThoseThatTheOperatorNames(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/labels-of-other-providers.md"), "\n| their label | here |\n")
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
				t.Errorf("docs/labels-of-other-providers.md has %s for %s, the operator %q", want, m[1], ours)
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d labels were found", rows)
	}
}
