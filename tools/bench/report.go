package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Report is everything that a document contains.
type Report struct {
	Machine Machine
	// Deadline is how long one call of Create waited for a node. Seeds is the
	// number of runs of each burst.
	Deadline time.Duration
	Seeds    int
	Targets  []Target
	Results  []Result
	// Sections has the texts that other verbs wrote into the document before.
	Sections map[Section]string
}

//go:embed report.md.tmpl
var layout string

// Markdown is the report as a document. Results appear in their order.
func (r Report) Markdown() (string, error) {
	page, err := template.New("report").Funcs(template.FuncMap{"table": r.table, "targets": r.targetTable, "section": r.section}).Parse(layout)
	if err != nil {
		return "", fmt.Errorf("the report's layout: %w", err)
	}
	var b strings.Builder
	if err := page.Execute(&b, r); err != nil {
		return "", fmt.Errorf("the report: %w", err)
	}
	return b.String(), nil
}

// section is the text of a section between its markers, so that the section's verb can
// replace the text later.
func (r Report) section(name Section) string { return name.in(r.Sections[name]) }

// table shows all results of one bench, which have the same columns.
func (r Report) table(name string) string {
	var rows [][]string
	for _, result := range r.Results {
		if result.Bench != name {
			continue
		}
		var head, row []string
		for _, l := range result.Labels {
			head, row = append(head, l.Name), append(row, l.Value)
		}
		for _, f := range append(append([]Figure{}, result.Figures...), result.Details...) {
			head, row = append(head, f.Name), append(row, f.String())
		}
		if rows == nil {
			rows = append(rows, head)
		}
		rows = append(rows, row)
	}
	return markdownTable(rows)
}

// targetTable shows each target with the worst measured value.
func (r Report) targetTable() string {
	rows := [][]string{{"measurement", "figure", "target", "worst", ""}}
	for _, t := range r.Targets {
		worst, measured := t.worst(r.Results)
		row := []string{t.what(), t.Figure, fmt.Sprintf("at most %g", t.Most), "not measured", "missed"}
		if measured {
			row[3] = strconv.FormatFloat(worst, 'f', -1, 64)
			if worst != float64(int(worst)) {
				row[3] = strconv.FormatFloat(worst, 'f', 3, 64)
			}
			if t.met(worst) {
				row[4] = "met"
			}
		}
		rows = append(rows, row)
	}
	return markdownTable(rows)
}

// markdownTable takes the first row for the head.
func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
