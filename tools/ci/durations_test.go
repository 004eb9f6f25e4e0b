package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script reads the events of `go test -json`, also of a run past midnight.
func TestDurationsOfARun(t *testing.T) {
	events := filepath.Join(t.TempDir(), "test.json")
	const prefix = `"Package":"github.com/karpenter-linode/karpenter-linode/`
	lines := []string{
		`{"Time":"2026-11-22T23:59:30Z","Action":"start",` + prefix + `modules/linode"}`,
		`{"Time":"2026-11-22T23:59:40Z","Action":"pass",` + prefix + `modules/linode","Elapsed":9.6}`,
		`{"Time":"2026-11-23T00:00:10Z","Action":"pass",` + prefix + `tools/docs","Elapsed":20}`,
		`{"Time":"2026-11-23T00:00:20Z","Action":"pass",` + prefix + `tools/e2e","Test":"TestTroubleStandard","Elapsed":118.7}`,
		`{"Time":"2026-11-23T00:00:20Z","Action":"pass",` + prefix + `tools/e2e","Test":"TestTroubleEnterprise","Elapsed":112}`,
		`{"Time":"2026-11-23T00:00:20Z","Action":"pass",` + prefix + `tools/e2e","Test":"TestTroubleEnterprise/labels","Elapsed":60}`,
		`{"Time":"2026-11-23T00:00:30Z","Action":"fail",` + prefix + `tools/e2e","Test":"TestInstance","Elapsed":3}`,
		`{"Time":"2026-11-23T00:01:00Z","Action":"pass",` + prefix + `tools/e2e","Elapsed":300}`,
	}
	if err := os.WriteFile(events, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	durations := func(events string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "../make/durations.sh")
		cmd.Env = append(os.Environ(), "EVENTS="+events)
		return cmd.CombinedOutput()
	}
	out, err := durations(events)
	if err != nil {
		t.Fatal(err)
	}
	want := "| part | seconds |\n|---|---|\n| Instance | 3 |\n| TroubleEnterprise | 112 |\n| TroubleStandard | 119 |\n" +
		"| all | 90 |\n| modules/linode | 10 |\n| tools/docs | 20 |\n"
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	out, err = durations(filepath.Join(t.TempDir(), "none.json"))
	if err == nil || !strings.Contains(string(out), "run make test first") {
		t.Errorf("without a run: %v, %s", err, out)
	}
}
