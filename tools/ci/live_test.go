package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// A result of verify becomes the first row of docs/live-results.md, and the text for the time before the first run goes.
func TestALiveResultBecomesARow(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("no jq, which only the workflow needs")
	}
	page, err := os.ReadFile("../../docs/live-results.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	results := filepath.Join(dir, "live-results.md")
	if err := os.WriteFile(results, page, 0o600); err != nil {
		t.Fatal(err)
	}
	r := report.Report{
		Schema: report.Schema, Tool: "karpenter-linode v1.2.3", Day: "2027-01-02", Plan: report.Plan{MaxCost: 0.96},
		Cluster: report.Cluster{Tier: "standard", Region: "us-ord", K8sVersion: "1.36"},
		Judgements: []report.Judgement{
			{Assumption: report.OldLists, Verdict: report.Broken}, {Assumption: report.OldReads, Verdict: report.Holds},
		},
		Scenarios: []report.Scenario{{Name: "drift", Ran: true}, {Name: "killed"}, {Name: "volume", Ran: true, Passed: true}},
	}
	for _, c := range []struct {
		want   string
		change func()
	}{
		{"| 2027-01-02 | v1.2.3 | lke, standard | us-ord | 1.36 | red: old-lists, drift | at most 0.96 |", func() {}},
		{"| 2027-01-09 | v1.2.3 | lke, standard | us-ord | 1.36 | green | at most 0.96 |", func() {
			r.Day, r.Judgements, r.Scenarios = "2027-01-09", []report.Judgement{}, []report.Scenario{}
		}},
		{"| 2027-01-16 | v1.2.3 | lke, standard | us-ord | 1.36 | ended early: interrupted | at most 0.96 |", func() {
			r.Day, r.Audit.Stopped = "2027-01-16", "interrupted"
		}},
	} {
		c.change()
		file, err := os.Create(filepath.Join(dir, "verify.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Write(file); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		if out, err := exec.CommandContext(t.Context(), "../make/live-result.sh", file.Name(), results).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(results)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "|---|---|---|---|---|---|---|\n"+c.want+"\n") || strings.Contains(string(text), "not run yet") ||
			strings.Contains(string(text), "has not met a real account") {
			t.Errorf("no first row %q in\n%s", c.want, text)
		}
	}
}
