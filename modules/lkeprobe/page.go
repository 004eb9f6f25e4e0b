package lkeprobe

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

//go:embed report.md.tmpl
var layout string

var markdown = template.Must(template.New("report").Funcs(template.FuncMap{
	"cell": cell, "delays": delays, "red": Red, "passed": passed, "differing": differing, "total": func(m map[string]int) int {
		n := 0
		for _, c := range m {
			n += c
		}
		return n
	},
}).Parse(layout))

// Markdown writes a report as a page for people.
func Markdown(w io.Writer, r *report.Report) error { return markdown.Execute(w, r) }

// Table writes a report as lines for a terminal: broken assumptions and failed scenarios last.
func Table(w io.Writer, r *report.Report) {
	for _, f := range r.Facts {
		fmt.Fprintf(w, "%-11s %-26s %-12s %s\n", f.Experiment, f.ID, f.Verdict, f.Seen)
	}
	for _, d := range delays(r) {
		fmt.Fprintf(w, "%-11s %-26s %-12s %s\n", "delay", d.Name, fmt.Sprintf("%d samples", d.N), d.Range)
	}
	for _, j := range r.Judgements {
		fmt.Fprintf(w, "%-11s %-26s %-12s %s\n", "assumption", j.Assumption, j.Verdict, j.Seen)
	}
	for _, s := range r.Scenarios {
		fmt.Fprintf(w, "%-11s %-26s %-12s %s\n", "operator", s.Name, passed(s), s.Saw)
	}
}

// Red lists the names of the broken assumptions and of the failed scenarios.
func Red(r *report.Report) []string {
	var red []string
	for _, j := range r.Judgements {
		if j.Verdict == report.Broken {
			red = append(red, string(j.Assumption))
		}
	}
	for _, s := range r.Scenarios {
		if s.Ran && !s.Passed {
			red = append(red, s.Name)
		}
	}
	return red
}

// differing lists the facts that differ from the sources.
func differing(r *report.Report) []report.Fact {
	return slices.DeleteFunc(slices.Clone(r.Facts), func(f report.Fact) bool { return f.Verdict != report.Differs })
}

type delayRow struct {
	Name, Range string
	N           int
}

func delays(r *report.Report) []delayRow {
	var rows []delayRow
	for _, name := range slices.Sorted(maps.Keys(r.Delays)) {
		least, most, ok := r.Range(name)
		if !ok {
			continue
		}
		text := round(least)
		if round(most) != text {
			text += " to " + round(most)
		}
		rows = append(rows, delayRow{name, text, len(r.Delays[name])})
	}
	return rows
}

func round(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// cell keeps a text inside one cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;").Replace(text)
}
