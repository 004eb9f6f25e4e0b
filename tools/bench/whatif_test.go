package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

func TestWhatifsSectionHasARowForEachWorkload(t *testing.T) {
	report := bench.WhatifReport{Machine: bench.Machine{Cores: 2, System: "linux/amd64"}, Rest: 45 * time.Second,
		ManyRest: time.Minute, Rows: []bench.WhatifRow{
			{Workload: "the same", Predicted: map[string]int{"b": 1, "a": 1, "c": 2}, Held: map[string]int{"a": 1, "b": 1, "c": 2},
				PredictedMonthly: 192, HeldMonthly: 192, Low: 192, High: 192},
			{Workload: "dearer", Predicted: map[string]int{"a": 1}, Held: map[string]int{"b": 2}, PredictedMonthly: 200, HeldMonthly: 204,
				Low: 200, High: 200},
			{Workload: "within", Predicted: map[string]int{"a": 1}, Held: map[string]int{"b": 2}, PredictedMonthly: 2016, HeldMonthly: 1900,
				Low: 1884, High: 2052},
			{Workload: "below", Predicted: map[string]int{"a": 1}, Held: map[string]int{"b": 2}, PredictedMonthly: 2016, HeldMonthly: 1788,
				Low: 1824, High: 2016},
			{Workload: "above", Predicted: map[string]int{"a": 1}, Held: map[string]int{"b": 2}, PredictedMonthly: 100, HeldMonthly: 121,
				Low: 90, High: 110},
		}}
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte(page(t, "of bench-scale")), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		if err := report.Write(file); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| workload | whatif | operator | difference |\n",
		"| the same | $192: 2 `c`, 1 `a`, 1 `b` | $192: the same | 0% |\n",
		"| dearer | $200: 1 `a` | $204: 2 `b` | +2.0% |\n",
		"| within | $2016: 1 `a`; range $1884 to $2052 | $1900: 2 `b` | -5.8%, in the range |\n",
		"| below | $2016: 1 `a`; range $1824 to $2016 | $1788: 2 `b` | -11.3%, -2.0% to the range |\n",
		"| above | $100: 1 `a`; range $90 to $110 | $121: 2 `b` | +21.0%, +10.0% to the range |\n",
		"come or gone for 45s (300 pods: 1m0s)", "Measured on: unknown processor, 2 cores", "of bench-scale\n",
	} {
		if strings.Count(string(written), want) != 1 {
			t.Errorf("the document has %d times %q:\n%s", strings.Count(string(written), want), want, written)
		}
	}
	if section := bench.WhatifSection.Of(string(written)); !strings.HasPrefix(section, "What [`karpenter-linode whatif`]") {
		t.Errorf("the section is %q", section)
	}
}
