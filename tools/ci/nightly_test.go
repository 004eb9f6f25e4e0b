package ci_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A dependency that is compiled or run gets no right to change the repository: a job that may write neither sets a compiler up nor runs
// make, go or a program of the repository. The release's job is in TestTheReleaseIsCompiledWithoutTheRightsToPublishIt.
func TestNoJobCompilesWithTheRightToWrite(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%q, %v", files, err)
	}
	runs := regexp.MustCompile(`(?m)(^|[\s|;&(])(make|go|\./?\S*|tools/\S+|node|npm|npx|python3?|bash|sh)(\s|$)`)
	writing := 0
	for _, file := range files {
		if filepath.Base(file) == "release.yml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct {
					Uses, Run string
					With      map[string]any
				}
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		if workflow.Permissions == nil {
			t.Errorf("%s: the jobs have the repository's default permissions", file)
		}
		for name, job := range workflow.Jobs {
			permissions := job.Permissions
			if permissions == nil {
				permissions = workflow.Permissions
			}
			if permissions["contents"] != "write" && permissions["pull-requests"] != "write" && permissions["packages"] != "write" {
				continue
			}
			writing++
			for _, step := range job.Steps {
				if strings.Contains(step.Uses, "/setup-") {
					t.Errorf("%s: the job %s may write and uses %s", file, name, step.Uses)
				}
				for line := range strings.Lines(step.Run) {
					if found := runs.FindString(line); found != "" {
						t.Errorf("%s: the job %s may write and runs %q", file, name, strings.TrimSpace(line))
					}
				}
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s: the job %s leaves its token in the checkout", file, name)
				}
			}
		}
	}
	if writing != 2 {
		t.Errorf("%d jobs may write, want those that propose the catalogue with the page of the nights, and the results of verify", writing)
	}
}
