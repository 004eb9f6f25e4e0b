package ci_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

type contact struct {
	Name    string
	Primary bool
}

// insights has the fields of OpenSSF's schema 2 that the file uses; a field that is not here is refused.
type insights struct {
	Header struct {
		Schema   string `json:"schema-version"`
		Updated  string `json:"last-updated"`
		Reviewed string `json:"last-reviewed"`
		URL      string
	}
	Project struct {
		Name, Homepage, Roadmap string
		Administrators          []contact
		Repositories            []struct{ Name, URL, Comment string }
		Reporting               struct {
			Accepted bool   `json:"reports-accepted"`
			Bounty   *bool  `json:"bug-bounty-available"`
			Policy   string `json:"security-policy"`
			Comment  string
		} `json:"vulnerability-reporting"`
		Documentation map[string]string
	}
	Repository struct {
		Status, URL   string
		Changes       *bool     `json:"accepts-change-request"`
		Automated     *bool     `json:"accepts-automated-change-request"`
		BugFixesOnly  bool      `json:"bug-fixes-only"`
		NoPackages    bool      `json:"no-third-party-packages"`
		Team          []contact `json:"core-team"`
		License       struct{ URL, Expression string }
		Documentation map[string]string
		Security      struct {
			Assessments struct {
				Self struct{ Evidence, Comment string }
			}
			Tools []struct {
				Name, Type, Comment string
				Rulesets            []string
				Integration         map[string]bool
				Results             map[string]any
			}
		}
		Release struct {
			Automated *bool                           `json:"automated-pipeline"`
			Points    []struct{ URI, Comment string } `json:"distribution-points"`
			Changelog string
		}
	}
}

func TestSecurityInsights(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY-INSIGHTS.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file insights
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(file.Header.Schema, "2.") {
		t.Errorf("schema %q", file.Header.Schema)
	}
	for _, date := range []string{file.Header.Updated, file.Header.Reviewed} {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			t.Error(err)
		}
	}
	p, r := file.Project, file.Repository
	if p.Name == "" || len(p.Administrators) == 0 || len(p.Repositories) == 0 || p.Reporting.Bounty == nil || r.Changes == nil ||
		r.Automated == nil || len(r.Team) == 0 || r.License.Expression != "Apache-2.0" || r.Security.Assessments.Self.Comment == "" ||
		r.Release.Automated == nil || len(r.Release.Points) == 0 {
		t.Errorf("a required field is missing: %+v", file)
	}
	for _, tool := range r.Security.Tools {
		if len(tool.Integration) != 3 || tool.Results == nil || len(tool.Rulesets) == 0 {
			t.Errorf("a required field of a tool is missing: %+v", tool)
		}
	}
	// Links to the repository's files lead to files.
	links := 0
	for line := range strings.Lines(string(text)) {
		_, path, found := strings.Cut(line, "/blob/main/")
		if !found {
			continue
		}
		links++
		if _, err := os.Stat(filepath.Join("../..", strings.TrimSpace(path))); err != nil {
			t.Error(err)
		}
	}
	if links < 8 {
		t.Errorf("%d links", links)
	}
}
