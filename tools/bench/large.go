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

// LargeTargets are those of Scale. The ratios are the operator's figures to those of Karpenter core with its own provider for kwok.
var LargeTargets = []Target{
	{Scale, 0, "memory_ratio", 1.05, all},
	{Scale, 0, "cpu_ratio", 1.05, all},
	{Scale, 0, "when_empty_memory_ratio", 1.05, all},
	{Scale, 0, "when_empty_cpu_ratio", 1.05, all},
	{Scale, 0, "own_cpu_percent", 1, all},
	{Scale, 0, "idle_calls_per_minute", 10, all},
}

// Window has the processor time and memory of a program while it was watched under one policy.
type Window struct {
	Memory int           // mean of its physical memory in bytes
	CPU    time.Duration // of the processor
}

// Used has the times and resources of a program on a large cluster.
type Used struct {
	PeakRSS              int           // bytes of physical memory, the whole run
	ScaleUp              time.Duration // until the last pod ran
	Underutilized, Empty Window        // by the NodePool's policy; under the second core plans nothing
}

// Large compares the operator on a large cluster with Karpenter core and its provider for kwok.
type Large struct {
	Nodes, Pods         int
	Operator, Reference Used
	Rest                time.Duration // the length of each window

	Calls int // of the Linode API, during the first window
	// Own is the part of a core that this repository's code used, shortly after
	// the first window.
	Own float64
	// ScaleUpCalls counts the requests to the Linode API until the last pod ran.
	// Throttled counts answers 429 in the whole run.
	ScaleUpCalls, Throttled int
}

// Result of a large cluster. Without a reference a ratio is not a number, which meets no target.
func (l Large) Result() Result {
	result := Result{Bench: Scale, Labels: []Label{{"nodes", strconv.Itoa(l.Nodes)}, {"pods", strconv.Itoa(l.Pods)}}}
	for _, row := range l.rows() {
		if row.figure != "" {
			result.Figures = append(result.Figures, Figure{row.figure, row.operator / row.reference, 3})
		}
	}
	result.Figures = append(result.Figures, Figure{"own_cpu_percent", 100 * l.Own, 2},
		Figure{"idle_calls_per_minute", ratio(float64(l.Calls), l.Rest.Minutes()), 1})
	return result
}

// row is one figure of both programs.
type row struct {
	name, figure        string // figure is the ratio's name; "" = it has no target
	decimals            int
	operator, reference float64
}

// rows returns the compared figures. A MB is 2^20 bytes.
func (l Large) rows() []row {
	a, b := l.Operator, l.Reference
	memory := func(bytes int) float64 { return float64(bytes) / (1 << 20) }
	percent := func(cpu time.Duration) float64 { return 100 * ratio(cpu.Seconds(), l.Rest.Seconds()) }
	return []row{
		{"memory, `WhenEmptyOrUnderutilized`, MB", "memory_ratio", 0, memory(a.Underutilized.Memory), memory(b.Underutilized.Memory)},
		{"processor, `WhenEmptyOrUnderutilized`, % of a core", "cpu_ratio", 1, percent(a.Underutilized.CPU), percent(b.Underutilized.CPU)},
		{"memory, `WhenEmpty`, MB", "when_empty_memory_ratio", 0, memory(a.Empty.Memory), memory(b.Empty.Memory)},
		{"processor, `WhenEmpty`, % of a core", "when_empty_cpu_ratio", 1, percent(a.Empty.CPU), percent(b.Empty.CPU)},
		{"most memory in the whole run, MB", "", 0, memory(a.PeakRSS), memory(b.PeakRSS)},
		{"until the last pod ran, s", "", 0, a.ScaleUp.Seconds(), b.ScaleUp.Seconds()},
	}
}

// Comparison is a table of what both programs needed.
func (l Large) Comparison() string {
	table := [][]string{{"", "operator", "core with kwok's provider", "ratio"}}
	for _, row := range l.rows() {
		table = append(table, []string{row.name, Figure{"", row.operator, row.decimals}.String(),
			Figure{"", row.reference, row.decimals}.String(), Figure{"", row.operator / row.reference, 3}.String()})
	}
	return markdownTable(table)
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
