package bench

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// WhatifRow compares what whatif predicted for a workload with what the operator held at rest. Prices are the prices of Karpenter's nodes,
// in USD a month.
type WhatifRow struct {
	Workload                      string
	Predicted, Held               map[string]int // nodes by plan
	PredictedMonthly, HeldMonthly float64
	Low, High                     float64 // whatif's range
}

// WhatifReport is the section of the document that `make bench-whatif` writes.
type WhatifReport struct {
	Machine Machine
	// Rest is how long the NodeClaims had not changed when the operator's nodes were counted. ManyRest is this time for the workload with
	// 300 pods.
	Rest, ManyRest time.Duration
	Rows           []WhatifRow
}

//go:embed whatif.md.tmpl
var whatifLayout string

// Markdown returns the section, without its markers.
func (r WhatifReport) Markdown() (string, error) { return render(whatifLayout, nil, r) }

// Write writes the section into a document.
func (r WhatifReport) Write(file string) error {
	section, err := r.Markdown()
	if err != nil {
		return err
	}
	return WhatifSection.Write(file, section)
}

// Table compares whatif's prediction with the operator, in a row for each workload.
func (r WhatifReport) Table() string {
	table := [][]string{{"workload", "whatif", "operator", "difference"}}
	for _, row := range r.Rows {
		table = append(table, []string{row.Workload, row.predicted(), row.held(), row.Difference()})
	}
	return strings.TrimSpace(markdownTable(table))
}

func (r WhatifRow) predicted() string {
	text := fmt.Sprintf("$%.0f: %s", r.PredictedMonthly, plans(r.Predicted))
	if r.Low < r.High {
		text += fmt.Sprintf("; range $%.0f to $%.0f", r.Low, r.High)
	}
	return text
}

func (r WhatifRow) held() string {
	if plans(r.Held) == plans(r.Predicted) {
		return fmt.Sprintf("$%.0f: the same", r.HeldMonthly)
	}
	return fmt.Sprintf("$%.0f: %s", r.HeldMonthly, plans(r.Held))
}

// Difference is the difference of the prices. If whatif has a range, it also has the distance of the operator's price from the range.
func (r WhatifRow) Difference() string {
	text := percent(r.HeldMonthly, r.PredictedMonthly)
	switch {
	case r.Low >= r.High:
		return text
	case r.HeldMonthly < r.Low:
		return text + ", " + percent(r.HeldMonthly, r.Low) + " to the range"
	case r.HeldMonthly > r.High:
		return text + ", " + percent(r.HeldMonthly, r.High) + " to the range"
	}
	return text + ", in the range"
}

func percent(price, of float64) string {
	if difference := math.Round(1000*ratio(price-of, of)) / 10; difference != 0 {
		return fmt.Sprintf("%+.1f%%", difference)
	}
	return "0%"
}

// plans lists nodes by plan, the most numerous first.
func plans(nodes map[string]int) string {
	var names, texts []string
	for name := range nodes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if nodes[a] != nodes[b] {
			return nodes[b] - nodes[a]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%d `%s`", nodes[name], name))
	}
	return strings.Join(texts, ", ")
}
