package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

var large = bench.Large{
	Nodes: 500, Pods: 5000, PeakRSS: 300 << 20, CPU: 12 * time.Second, Calls: 66, Rest: 10 * time.Minute, Own: 0.0025, CPUWhenEmpty: 9 * time.Second,
	ScaleUp: 5 * time.Minute, ScaleUpCalls: 512, Throttled: 1,
}

func TestLargeSaysWhatScriptsLookFor(t *testing.T) {
	want := "bench-scale: nodes=500 pods=5000 peak_rss_mb=300 idle_cpu_percent=2.0 idle_calls_per_minute=6.6"
	if got := large.Result().Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLargeTargets(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*bench.Large)
		missed string // "" = none
	}{
		"all are met":         {func(*bench.Large) {}, ""},
		"memory":              {func(l *bench.Large) { l.PeakRSS = 513 << 20 }, "missed: peak_rss_mb=513, the target is at most 512"},
		"processor":           {func(l *bench.Large) { l.CPU = 31 * time.Second }, "missed: idle_cpu_percent=5.167, the target is at most 5"},
		"requests":            {func(l *bench.Large) { l.Calls = 101 }, "missed: idle_calls_per_minute=10.1, the target is at most 10"},
		"exactly on the mark": {func(l *bench.Large) { l.PeakRSS, l.CPU, l.Calls = 512<<20, 30*time.Second, 100 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := large
			test.change(&l)
			missed := bench.Missed(bench.LargeTargets, []bench.Result{l.Result()})
			if all := strings.Join(missed, "\n"); !strings.HasPrefix(all, test.missed) || (all == "") != (test.missed == "") || len(missed) > 1 {
				t.Errorf("got %q, want %q", missed, test.missed)
			}
		})
	}
}

// Each of the two programs that write the document keeps what the other wrote.
func TestTheSectionSurvivesTheReportAndTheReportTheSection(t *testing.T) {
	fresh := page(t, "")
	if !strings.Contains(fresh, "Not measured yet") {
		t.Errorf("a new document does not say that the section is missing:\n%s", fresh)
	}
	section, err := bench.LargeReport{Machine: bench.Machine{Cores: 2, System: "linux/amd64"}, Profile: "realistic", Settle: 5 * time.Minute, Result: large.Result()}.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	with, err := bench.WithSection(fresh, section)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"head":    "| nodes | pods | peak_rss_mb | idle_cpu_percent | idle_calls_per_minute | own_cpu_percent | when_empty_cpu_percent | idle_window_s | scale_up_s | scale_up_calls | throttled |\n",
		"row":     "| 500 | 5000 | 300 | 2.0 | 6.6 | 0.25 | 1.5 | 600 | 300 | 512 | 1 |\n",
		"target":  "| bench-scale | peak_rss_mb | at most 512 | 300 | met |\n",
		"settle":  "left alone for 5m0s",
		"profile": "`realistic`",
		"machine": "2 cores",
	} {
		if !strings.Contains(with, want) {
			t.Errorf("%s: the document lacks %q:\n%s", name, want, with)
		}
	}
	if got := bench.Section(with); got != section {
		t.Errorf("the section that is found is\n%s\nwant\n%s", got, section)
	}
	if got := page(t, bench.Section(with)); got != with {
		t.Errorf("written again the document is\n%s\nwant\n%s", got, with)
	}
	again, err := bench.WithSection(with, section)
	if err != nil || again != with {
		t.Errorf("the same section again changes the document (%v):\n%s", err, again)
	}
}

func page(t *testing.T, section string) string {
	t.Helper()
	text, err := bench.Report{Targets: bench.Targets, Results: []bench.Result{burst.Result()}, Large: section}.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestADocumentWithoutAPlaceForTheSectionIsRefused(t *testing.T) {
	if _, err := bench.WithSection("# Performance\n", "text"); err == nil || !strings.Contains(err.Error(), "written by make bench-scale") {
		t.Errorf("got %v", err)
	}
	if got := bench.Section("# Performance\n"); got != "" {
		t.Errorf("found %q", got)
	}
}
