package bench

import (
	_ "embed"
	"strconv"
	"text/template"
	"time"
)

// Scale is the measurement of the whole operator on a large cluster; package scale
// takes it.
const Scale = "bench-scale"

// LargeTargets are the targets of Scale.
var LargeTargets = []Target{
	{Scale, 0, "memory_mb_per_node", 1.6, all},
	{Scale, 0, "own_cpu_percent", 1, all},
	{Scale, 0, "idle_calls_per_minute", 10, all},
}

// Window has the processor time and memory of the operator while it was watched under one policy.
type Window struct {
	Memory int           // mean of its physical memory in bytes
	CPU    time.Duration // processor time
}

// Large has the times and resources of the operator on a large cluster.
type Large struct {
	Nodes, Pods          int
	PeakRSS              int           // bytes of physical memory, the whole run
	ScaleUp              time.Duration // until the last pod ran
	Underutilized, Empty Window        // one for each policy of the NodePool; under WhenEmpty Karpenter core plans nothing
	Rest                 time.Duration // the length of each window

	Calls int // requests to the Linode API during the window Underutilized
	// Own is the share of one processor core that this repository's code used,
	// shortly after the window Underutilized.
	Own float64
	// ScaleUpCalls counts the requests to the Linode API until the last pod ran.
	// Throttled counts answers 429 in the whole run.
	ScaleUpCalls, Throttled int
}

// Result of a large cluster.
func (l Large) Result() Result {
	memory := max(l.Underutilized.Memory, l.Empty.Memory)
	return Result{
		Bench: Scale, Labels: []Label{{"nodes", strconv.Itoa(l.Nodes)}, {"pods", strconv.Itoa(l.Pods)}},
		Figures: []Figure{{"memory_mb_per_node", ratio(megabytes(memory), float64(l.Nodes)), 2}, {"own_cpu_percent", 100 * l.Own, 2},
			{"idle_calls_per_minute", ratio(float64(l.Calls), l.Rest.Minutes()), 1}},
	}
}

// megabytes converts bytes; a MB is 2^20 bytes.
func megabytes(bytes int) float64 { return float64(bytes) / (1 << 20) }

// Table shows what the operator needed.
func (l Large) Table() string {
	percent := func(cpu time.Duration) string {
		return Figure{"", 100 * ratio(cpu.Seconds(), l.Rest.Seconds()), 1}.String()
	}
	size := func(bytes int) string { return Figure{"", megabytes(bytes), 0}.String() }
	return markdownTable([][]string{
		{"", "operator"},
		{"memory, `WhenEmptyOrUnderutilized`, MB", size(l.Underutilized.Memory)},
		{"processor, `WhenEmptyOrUnderutilized`, % of a core", percent(l.Underutilized.CPU)},
		{"memory, `WhenEmpty`, MB", size(l.Empty.Memory)},
		{"processor, `WhenEmpty`, % of a core", percent(l.Empty.CPU)},
		{"most memory in the whole run, MB", size(l.PeakRSS)},
		{"until the last pod ran, s", Figure{"", l.ScaleUp.Seconds(), 0}.String()},
	})
}

//go:embed large.md.tmpl
var largeLayout string

// LargeReport is the section of the document that Scale writes.
type LargeReport struct {
	Machine Machine
	Profile string // of the simulated platform
	Settle  time.Duration
	Large   Large
}

// Markdown returns the section, without its markers.
func (r LargeReport) Markdown() (string, error) {
	tables := Report{Targets: LargeTargets, Results: []Result{r.Large.Result()}}
	return render(largeLayout, template.FuncMap{"targets": tables.targetTable}, r)
}
