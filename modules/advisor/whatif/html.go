package whatif

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
)

//go:embed page.html
var pageFile embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"money": money, "signed": signed, "percent": percent, "plural": plural, "few": few, "costs": costs, "usage": usage, "swings": swings,
	"cores": cores, "gibibytes": gibibytes,
}).ParseFS(pageFile, "page.html"))

// WriteHTML writes a report as one page. The page contains its charts and loads nothing.
func (r *Report) WriteHTML(w io.Writer) error { return page.Execute(w, r) }

// chart is rows of bars, with a key to their colours. The page lays it out as text next to boxes, so a long label takes a second line.
type chart struct {
	Key  []swatch
	Rows []row
}

// swatch is an entry of a chart's key. Shade is an index of the page's colours.
type swatch struct {
	Shade int
	Text  string
}

// row is a bar with a label before it and a value after it. In a chart of differences, bars begin in the middle, and a bar with Less goes
// to the left.
type row struct {
	Label, Value string
	Bar          []segment
	Less         []segment
}

// segment is a part of a bar; Width is in percent of the longest bar of the chart.
type segment struct {
	Width float64
	Shade int
	Title string
}

// Colours of the page. Groups of nodes use the colours before grey in turn.
const (
	blue   = 0
	green  = 2
	violet = 3
	orange = 4
	shades = 6
	grey   = shades
)

// costs compares today's price with the price under Karpenter, in segments by pool and plan.
func costs(r *Report) *chart {
	c := &chart{}
	most := max(r.TodayMonthly, r.ThenMonthly, r.Consolidation.BeforeMonthly, 1)
	stacked := func(groups []Group) (segments []segment) {
		for _, g := range groups {
			shade := len(c.Key) % shades
			text := fmt.Sprintf("%s, %s: %s, $%s", g.Pool, g.Plan, plural(g.Nodes, "node"), money(g.Monthly))
			c.Key = append(c.Key, swatch{shade, text})
			segments = append(segments, segment{width(g.Monthly, most), shade, text})
		}
		return segments
	}
	c.Rows = append(c.Rows, row{Label: "today", Value: "$" + money(r.TodayMonthly), Bar: stacked(r.Today)})
	if before := r.Consolidation.BeforeMonthly; r.Consolidation.Commands > 0 {
		c.Rows = append(c.Rows, row{Label: "with Karpenter, before consolidation", Value: "$" + money(before),
			Bar: []segment{{width(before, most), grey, "after the first placement"}}})
	}
	c.Rows = append(c.Rows, row{Label: "with Karpenter", Value: "$" + money(r.ThenMonthly), Bar: stacked(r.Then)})
	return c
}

// usage shows the requested CPU and memory in each group.
func usage(groups []Group) *chart {
	c := &chart{Key: []swatch{{blue, "CPU"}, {violet, "memory"}}}
	for _, g := range groups {
		label := fmt.Sprintf("%s, %s\u00a0×\u00a0%d", g.Pool, g.Plan, g.Nodes)
		c.Rows = append(c.Rows,
			row{Label: label, Value: percent(g.CPUUsed), Bar: []segment{{width(min(g.CPUUsed, 1), 1), blue, "CPU"}}},
			row{Value: percent(g.MemoryUsed), Bar: []segment{{width(min(g.MemoryUsed, 1), 1), violet, "memory"}}})
	}
	return c
}

// swings shows how much dearer or cheaper each variation is.
func swings(all []Variation) *chart {
	c := &chart{Key: []swatch{{green, "cheaper"}, {orange, "dearer"}}}
	largest := slices.MaxFunc(all, func(a, b Variation) int { return cmp.Compare(math.Abs(a.Difference), math.Abs(b.Difference)) })
	most := max(math.Abs(largest.Difference), 1)
	for _, v := range all {
		r := row{Label: v.NodePool + " " + v.Change, Value: difference(v.Difference)}
		bar := []segment{{width(math.Abs(v.Difference), most), orange, r.Value}}
		if v.Difference < 0 {
			bar[0].Shade = green
			r.Less = bar
		} else {
			r.Bar = bar
		}
		if v.Unplaced > 0 {
			r.Value += ", " + plural(v.Unplaced, "pod") + " without a node"
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

// difference returns an amount of money with a word for its sign.
func difference(usd float64) string {
	switch {
	case usd >= 0.005:
		return "$" + money(usd) + " more"
	case usd <= -0.005:
		return "$" + money(-usd) + " less"
	}
	return "the same"
}

// width returns a share in percent. It is rounded, so that the page is the same on machines whose floating point differs in the last
// digit.
func width(part, whole float64) float64 { return math.Round(part/whole*1000) / 10 }
