package report

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed report.md.tmpl
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"cell": cell, "delays": delays, "total": func(m map[string]int) int {
		n := 0
		for _, c := range m {
			n += c
		}
		return n
	},
}).Parse(pageText))

// Markdown writes the page for people.
func (r *Report) Markdown(w io.Writer) error { return page.Execute(w, r) }

// Table is the short form for a terminal: one line per fact.
func (r *Report) Table(w io.Writer) {
	for _, f := range r.Facts {
		fmt.Fprintf(w, "%-11s %-26s %-12s %s\n", f.Experiment, f.ID, f.Verdict, f.Seen)
	}
	for _, d := range delays(r) {
		fmt.Fprintf(w, "%-11s %-26s %-12s %s\n", "delay", d.Name, fmt.Sprintf("%d samples", d.N), d.Range)
	}
}

type delayRow struct {
	Name, Range string
	N           int
}

func delays(r *Report) []delayRow {
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
