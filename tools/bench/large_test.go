package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

var large = bench.Large{
	Nodes: 500, Pods: 5000, Calls: 33, Rest: 5 * time.Minute, Own: 0.0025, ScaleUpCalls: 512, Throttled: 1,
	PeakRSS: 450 << 20, ScaleUp: 5 * time.Minute,
	Underutilized: bench.Window{Memory: 400 << 20, CPU: 4 * time.Minute}, Empty: bench.Window{Memory: 300 << 20, CPU: 2 * time.Minute},
}

func TestLargeSaysWhatScriptsLookFor(t *testing.T) {
	want := "bench-scale: nodes=500 pods=5000 memory_mb_per_node=0.80 own_cpu_percent=0.25 idle_calls_per_minute=6.6"
	if got := large.Result().Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLargeTargets(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*bench.Large)
		missed string // "" = none
	}{
		"all are met": {func(*bench.Large) {}, ""},
		"memory": {func(l *bench.Large) { l.Underutilized.Memory = 810 << 20 },
			"missed: memory_mb_per_node=1.62, the target is at most 1.6"},
		"memory at rest": {func(l *bench.Large) { l.Empty.Memory = 810 << 20 },
			"missed: memory_mb_per_node=1.62, the target is at most 1.6"},
		"own code":             {func(l *bench.Large) { l.Own = 0.011 }, "missed: own_cpu_percent=1.1, the target is at most 1"},
		"requests":             {func(l *bench.Large) { l.Calls = 51 }, "missed: idle_calls_per_minute=10.2, the target is at most 10"},
		"exactly on the marks": {func(l *bench.Large) { l.Underutilized.Memory, l.Own, l.Calls = 800<<20, 0.01, 50 }, ""},
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
	section, err := bench.LargeReport{Machine: bench.Machine{Cores: 2, System: "linux/amd64"}, Profile: "realistic", Settle: 5 * time.Minute,
		Large: large}.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	with, err := bench.ScaleSection.Replace(fresh, section)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"head":    "|  | operator |\n",
		"memory":  "| memory, `WhenEmpty`, MB | 300 |\n",
		"cpu":     "| processor, `WhenEmptyOrUnderutilized`, % of a core | 80.0 |\n",
		"target":  "| bench-scale | memory_mb_per_node | at most 1.6 | 0.800 | met |\n",
		"calls":   "512 requests",
		"settle":  "left alone for 5m0s",
		"profile": "`realistic`",
		"machine": "2 cores",
	} {
		if !strings.Contains(with, want) {
			t.Errorf("%s: the document lacks %q:\n%s", name, want, with)
		}
	}
	if got := bench.ScaleSection.Of(with); got != section {
		t.Errorf("the section that is found is\n%s\nwant\n%s", got, section)
	}
	if got := page(t, bench.ScaleSection.Of(with)); got != with {
		t.Errorf("written again the document is\n%s\nwant\n%s", got, with)
	}
	again, err := bench.ScaleSection.Replace(with, section)
	if err != nil || again != with {
		t.Errorf("the same section again changes the document (%v):\n%s", err, again)
	}
}

func page(t *testing.T, section string) string {
	t.Helper()
	text, err := bench.Report{Targets: bench.Targets, Results: []bench.Result{burst.Result()},
		Sections: map[bench.Section]string{bench.ScaleSection: section}}.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestADocumentWithoutAPlaceForTheSectionIsRefused(t *testing.T) {
	_, err := bench.ScaleSection.Replace("# Performance\n", "text")
	if err == nil || !strings.Contains(err.Error(), "written by make bench-scale") {
		t.Errorf("got %v", err)
	}
	if got := bench.ScaleSection.Of("# Performance\n"); got != "" {
		t.Errorf("found %q", got)
	}
}
