package ci_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const nightlyTable = "# Nights\n\n| night | commit | found |\n|---|---|---|\n"

// night runs the script with the files that it reads, and returns what it prints.
func night(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../make/nightly.sh", args...)
	cmd.Env = append(os.Environ(), "EVENTS="+filepath.Join(dir, "test.json"), "AGAIN="+filepath.Join(dir, "passed-alone"),
		"PAGE="+filepath.Join(dir, "page.md"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestANightIsARowOfWhatItsJobsFound(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "page.md", nightlyTable+"| 2026-11-26 | `old` | nothing |\n\nAfter.\n")
	event := func(action, name, test string) string {
		if test != "" {
			test = fmt.Sprintf(`,"Test":"%s"`, test)
		}
		return fmt.Sprintf(`{"Time":"x","Action":"%s","Package":"github.com/karpenter-linode/karpenter-linode/%s"%s,"Elapsed":1}`+"\n",
			action, name, test)
	}
	put(t, dir, "test.json", event("pass", "tools/e2e", "TestA")+event("pass", "tools/e2e", "TestA/part")+
		event("fail", "tools/e2e", "TestB/x")+event("fail", "tools/e2e", "TestB")+event("fail", "tools/e2e", "TestC")+
		event("fail", "tools/e2e", "")+event("pass", "modules/claims", "TestD")+event("fail", "modules/linode", ""))
	put(t, dir, "passed-alone", "TestC (tools/e2e)\n")
	part := put(t, dir, "part", night(t, dir, "-record", "test-all", "1/6", "failure"))
	other := put(t, dir, "other", strings.Replace(night(t, t.TempDir(), "-record", "test-all", "2/6", "cancelled"), "\t0\n", "\t40\n", 1))
	soak := put(t, dir, "soak", night(t, dir, "-record", "soak", "", "success"))
	fuzz := put(t, dir, "fuzz", night(t, dir, "-record", "fuzz", "", "failure"))
	night(t, dir, "-page", "2026-11-27", "0123456789abcdef", part, other, soak, fuzz)
	page, err := os.ReadFile(filepath.Join(dir, "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := nightlyTable + "| 2026-11-27 | `01234567` | 0 of 2, 42 tests | - | 1 of 1 | 0 of 1 | - | - | - | TestB of tools/e2e failed; " +
		"TestC of tools/e2e failed, and passed alone; modules/linode failed without a test; fuzz: failure; test-all 2/6 ended as cancelled |\n" +
		"| 2026-11-26 | `old` | nothing |\n\nAfter.\n"
	if string(page) != want {
		t.Errorf("got\n%s\nwant\n%s", page, want)
	}
}

func TestThePageKeepsThirtyNights(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "page.md", nightlyTable+"\nNo night has been run yet.\n")
	soak := put(t, dir, "soak", night(t, dir, "-record", "soak", "", "success"))
	for n := range 35 {
		night(t, dir, "-page", fmt.Sprintf("night %02d", n), "abc", soak)
	}
	page, err := os.ReadFile(filepath.Join(dir, "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if n := strings.Count(text, "| night "); n != 31 || !strings.Contains(text, "| night 34 |") || strings.Contains(text, "| night 04 |") ||
		strings.Contains(text, "No night") {
		t.Errorf("%d rows with the header:\n%s", n, text)
	}
}

// The repository's page has the columns that the script writes.
func TestThePageOfTheRepositoryTakesANight(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("../../docs/nightly.md")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "page.md", string(text))
	soak := put(t, dir, "soak", night(t, dir, "-record", "soak", "", "success"))
	night(t, dir, "-page", "2026-11-27", "abc", soak)
	page, err := os.ReadFile(filepath.Join(dir, "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	var columns []int
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "|") {
			columns = append(columns, strings.Count(line, "|"))
		}
	}
	if len(columns) < 3 || columns[0] != columns[2] {
		t.Errorf("columns of each line: %v\n%s", columns, page)
	}
}

// Every fuzz target of the tree is run at night.
func TestEveryFuzzTargetIsFound(t *testing.T) {
	modules, err := filepath.Glob("../../modules/*")
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, module := range modules {
		err := filepath.WalkDir(module, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			want += strings.Count("\n"+string(text), "\nfunc Fuzz")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "../make/fuzz.sh")
	for _, module := range modules {
		cmd.Args = append(cmd.Args, "modules/"+filepath.Base(module))
	}
	cmd.Env = append(os.Environ(), "LIST=true")
	out, err := cmd.Output()
	if got := strings.Count(string(out), "\n"); err != nil || got != want || want < 10 {
		t.Errorf("%d of %d targets, %v:\n%s", got, want, err, out)
	}
}
