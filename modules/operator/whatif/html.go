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

// WriteHTML writes a report as one page that loads nothing: charts are part of it.
func (r *Report) WriteHTML(w io.Writer) error { return page.Execute(w, r) }

// Sizes of the charts, in units of their viewBox.
const (
	chartWidth = 640.0
	labelWidth = 190.0
	barHeight  = 22.0
	barGap     = 10.0
)

// A Chart is horizontal bars with a label before and a text after each.
type Chart struct {
	Width, Height float64
	Bars          []Bar
}

// Bar is one row of a Chart.
type Bar struct {
	Y        float64
	Label    string
	Text     string
	TextX    float64
	Segments []Segment
}

// Segment is a part of a bar. Shade is an index of the page's colours.
type Segment struct {
	X, Width float64
	Shade    int
	Title    string
}

const shades = 6

func newChart(rows int) *Chart {
	return &Chart{Width: chartWidth, Height: float64(rows)*(barHeight+barGap) + barGap}
}

func (c *Chart) add(label, text string, segments []Segment) {
	end := labelWidth
	for _, s := range segments {
		end = max(end, s.X+s.Width)
	}
	c.Bars = append(c.Bars, Bar{Y: barGap + float64(len(c.Bars))*(barHeight+barGap), Label: label, Text: text, TextX: end + 6,
		Segments: segments})
}

// plot is the width of the longest bar: what labels and texts leave.
const plot = chartWidth - labelWidth - 130

// costs compares the price of today with that of then, in segments by pool and plan.
func costs(r *Report) *Chart {
	c := newChart(3)
	scale := plot / max(r.TodayMonthly, r.ThenMonthly, r.Consolidation.BeforeMonthly, 1)
	stacked := func(groups []Group) (segments []Segment) {
		x := labelWidth
		for i, g := range groups {
			width := rounded(g.Monthly * scale)
			segments = append(segments, Segment{x, width, i % shades,
				fmt.Sprintf("%s, %s: %s, $%s", g.Pool, g.Plan, plural(g.Nodes, "node"), money(g.Monthly))})
			x += width
		}
		return segments
	}
	c.add("today", "$"+money(r.TodayMonthly), stacked(r.Today))
	before := r.Consolidation.BeforeMonthly
	c.add("before consolidation", "$"+money(before), []Segment{{labelWidth, rounded(before * scale), shades, "after the first placement"}})
	c.add("with Karpenter", "$"+money(r.ThenMonthly), stacked(r.Then))
	return c
}

// usage shows what is requested of CPU and memory in each group.
func usage(groups []Group) *Chart {
	c := newChart(2 * len(groups))
	for _, g := range groups {
		label := fmt.Sprintf("%s × %d", g.Plan, g.Nodes)
		c.add(label, "CPU "+percent(g.CPUUsed), []Segment{{labelWidth, rounded(min(g.CPUUsed, 1) * plot), 0, g.Pool}})
		c.add("", "memory "+percent(g.MemoryUsed), []Segment{{labelWidth, rounded(min(g.MemoryUsed, 1) * plot), 3, g.Pool}})
	}
	return c
}

// swings shows how much dearer or cheaper each variation is.
func swings(all []Variation) *Chart {
	c := newChart(len(all))
	if len(all) == 0 {
		return c
	}
	largest := slices.MaxFunc(all, func(a, b Variation) int { return cmp.Compare(math.Abs(a.Difference), math.Abs(b.Difference)) })
	scale := plot / max(math.Abs(largest.Difference), 1)
	for _, v := range all {
		shade := 4
		if v.Difference < 0 {
			shade = 2
		}
		text := signed(v.Difference)
		if v.Unplaced > 0 {
			text += ", " + plural(v.Unplaced, "pod") + " unplaced"
		}
		c.add(v.Change, text, []Segment{{labelWidth, rounded(math.Abs(v.Difference) * scale), shade, v.NodePool}})
	}
	return c
}

// rounded keeps the page the same on machines whose floating point differs in the last digit.
func rounded(x float64) float64 { return math.Round(x*10) / 10 }
