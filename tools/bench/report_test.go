package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

func TestReport(t *testing.T) {
	page, err := bench.Report{
		Machine:  bench.Machine{CPU: "Some Processor", Cores: 2, MemoryKB: 3 << 19, System: "linux/amd64", Go: "go1.26.8"},
		Deadline: 10 * time.Second, Seeds: 7,
		Targets: []bench.Target{
			{Bench: bench.Bursts, N: 100, Figure: "calls_per_claim", Most: 1.2},
			{Bench: bench.Bursts, Figure: "surplus", Most: 0},
			{Bench: bench.Bursts, N: 100, Figure: "floor_ratio", Most: 1.05},
			{Bench: bench.Heap, Figure: "heap_mb", Most: 64},
		},
		Results: []bench.Result{burst.Result(), bench.Rest{Tier: "standard", Nodes: 240, Length: time.Hour, Calls: 214}.Result()},
	}.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"head of a table": "| tier | profile | n | calls | calls_per_claim | collection_gets | throttled | surplus | floor_ratio | beyond_s | " +
			"took_s | floor_s | asked_s | attempts |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
		"burst":                  "| standard | realistic | 100 | 113 | 1.13 | 6 | 0 | 0 | 1.06 | 0.0 | 10.6 | 10.0 | 1.0 | 2 |\n",
		"rest":                   "| standard | 240 | 3.57 | 0.00 | 0 |\n",
		"target that is met":     "| bench n=100 | calls_per_claim | at most 1.2 | 1.130 | met |\n",
		"a whole number":         "| bench | surplus | at most 0 | 0 | met |\n",
		"target that is missed":  "| bench n=100 | floor_ratio | at most 1.05 | 1.060 | missed |\n",
		"target without figures": "| bench-heap | heap_mb | at most 64 | not measured | missed |\n",
		"settings":               "7 seeds",
		"deadline":               "waits 10s for",
		"machine":                "Some Processor, 2 cores, 1.5 GiB of memory, linux/amd64, go1.26.8\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: the report lacks %q:\n%s", name, want, page)
		}
	}
}

func TestMachine(t *testing.T) {
	for _, test := range []struct {
		name    string
		machine bench.Machine
		want    string
	}{
		{"known", bench.Machine{CPU: "Some Processor", Cores: 8, MemoryKB: 16 << 20, System: "linux/arm64", Go: "go1.26.8"},
			"Some Processor, 8 cores, 16.0 GiB of memory, linux/arm64, go1.26.8"},
		{"no word from the system", bench.Machine{Cores: 1, System: "darwin/arm64", Go: "go1.26.8"},
			"unknown processor, 1 cores, unknown memory, darwin/arm64, go1.26.8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.machine.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if m := bench.ThisMachine(); m.Cores < 1 || m.Go == "" || m.System == "" {
		t.Errorf("this machine is %+v", m)
	}
}
