package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Scale is the measurement of the whole operator on a large cluster; package scale
// takes it.
const Scale = "bench-scale"

// LargeTargets are those of Scale.
var LargeTargets = []Target{
	{Scale, 0, "peak_rss_mb", 512},
	{Scale, 0, "idle_cpu_percent", 5},
	{Scale, 0, "idle_calls_per_minute", 10},
}

// Large is what the operator needed on a large cluster.
type Large struct {
	Nodes, Pods int
	PeakRSS     int           // bytes of physical memory
	CPU         time.Duration // of the processor, during Rest
	Calls       int           // of the Linode API, during Rest
	Rest        time.Duration
	// Own is the part of a core that this repository's code used, shortly after
	// Rest. CPUWhenEmpty is CPU of a second Rest in which core plans nothing.
	Own          float64
	CPUWhenEmpty time.Duration
	// ScaleUp is until the last pod ran, ScaleUpCalls what the Linode API was
	// asked meanwhile. Throttled counts answers 429, the rest included.
	ScaleUp                 time.Duration
	ScaleUpCalls, Throttled int
}

// Result of a large cluster. A MB is 2^20 bytes.
func (l Large) Result() Result {
	return Result{
		Bench:  Scale,
		Labels: []Label{{"nodes", strconv.Itoa(l.Nodes)}, {"pods", strconv.Itoa(l.Pods)}},
		Figures: []Figure{
			{"peak_rss_mb", float64(l.PeakRSS) / (1 << 20), 0},
			{"idle_cpu_percent", 100 * ratio(l.CPU.Seconds(), l.Rest.Seconds()), 1},
			{"idle_calls_per_minute", ratio(float64(l.Calls), l.Rest.Minutes()), 1},
		},
		Details: []Figure{
			{"own_cpu_percent", 100 * l.Own, 2},
			{"when_empty_cpu_percent", 100 * ratio(l.CPUWhenEmpty.Seconds(), l.Rest.Seconds()), 1},
			{"idle_window_s", l.Rest.Seconds(), 0},
			{"scale_up_s", l.ScaleUp.Seconds(), 0},
			{"scale_up_calls", float64(l.ScaleUpCalls), 0},
			{"throttled", float64(l.Throttled), 0},
		},
	}
}

//go:embed large.md.tmpl
var largeLayout string

// LargeReport is the section of the document that Scale writes.
type LargeReport struct {
	Machine Machine
	Profile string // of the simulated platform
	Settle  time.Duration
	Result  Result
}

// Markdown is the section, without its markers.
func (r LargeReport) Markdown() (string, error) {
	tables := Report{Targets: LargeTargets, Results: []Result{r.Result}}
	section, err := template.New("section").Funcs(template.FuncMap{"table": tables.table, "targets": tables.targetTable}).Parse(largeLayout)
	if err != nil {
		return "", fmt.Errorf("the section's layout: %w", err)
	}
	var b strings.Builder
	if err := section.Execute(&b, r); err != nil {
		return "", fmt.Errorf("the section: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// The section's place in the document. Everything outside is `make bench`'s.
const (
	sectionBegins = "<!-- written by make bench-scale -->\n"
	sectionEnds   = "\n<!-- end of what make bench-scale writes -->"
)

// Section finds in a document what WithSection put there; "" if there is nothing.
func Section(page string) string {
	_, after, found := strings.Cut(page, sectionBegins)
	section, _, closed := strings.Cut(after, sectionEnds)
	if !found || !closed {
		return ""
	}
	return section
}

// WithSection puts the section into a document, in place of the one that is there.
func WithSection(page, section string) (string, error) {
	before, after, found := strings.Cut(page, sectionBegins)
	_, rest, closed := strings.Cut(after, sectionEnds)
	if !found || !closed {
		return "", fmt.Errorf("the document has no place for the section: %q and %q are missing", strings.TrimSpace(sectionBegins), strings.TrimSpace(sectionEnds))
	}
	return before + sectionBegins + section + sectionEnds + rest, nil
}
