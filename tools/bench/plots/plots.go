// Package plots draws the bursts of docs/performance.md as SVG: requests, and the time until the last NodeClaim has its
// ID beside the least that the platform allows, both against how many NodeClaims come at once.
//
// It reads the figures from the page's own table, so that picture and table cannot differ: `make bench` calls it after
// it has written the page, and a test compares the committed pictures with the committed page.
package plots

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	width, height = 16 * vg.Centimeter, 9 * vg.Centimeter
	heading       = "\n## Bursts\n"
)

// series are the colours of tier and profile.
var series = []struct {
	tier, profile string
	color         color.Color
}{
	{"standard", "realistic", color.RGBA{0x1f, 0x77, 0xb4, 0xff}},
	{"standard", "slow", color.RGBA{0x14, 0x6c, 0x2e, 0xff}},
	{"enterprise", "realistic", color.RGBA{0xd9, 0x5f, 0x02, 0xff}},
	{"enterprise", "slow", color.RGBA{0x8e, 0x24, 0x9b, 0xff}},
}

// Write draws the page's pictures into the folder images beside it.
func Write(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	pictures, err := Draw(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	folder := filepath.Join(filepath.Dir(page), "images")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range pictures {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Draw returns the pictures of a page by the name of their file.
func Draw(page string) (map[string][]byte, error) {
	rows, err := bursts(page)
	if err != nil {
		return nil, err
	}
	calls, err := picture("Requests to the Linode API for N NodeClaims at once", "requests", func(p *plot.Plot) error {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ticks(10, 20, 50, 100, 200, 500)
		if err := add(p, rows, "calls", "", false); err != nil {
			return err
		}
		return floor(p, "one request for each NodeClaim")
	})
	if err != nil {
		return nil, err
	}
	time, err := picture("Seconds until the last of N NodeClaims has its ID", "seconds", func(p *plot.Plot) error {
		p.Y.Min = 0
		if err := add(p, rows, "took_s", "", false); err != nil {
			return err
		}
		return add(p, rows, "floor_s", ", floor", true)
	})
	return map[string][]byte{"bench-calls.svg": calls, "bench-time.svg": time}, err
}

func picture(title, axis string, fill func(*plot.Plot) error) ([]byte, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "NodeClaims at once (N)", axis
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(1, 10, 100, 240, 500)
	p.BackgroundColor = color.White
	p.Legend.Top, p.Legend.Left = true, true
	if err := fill(p); err != nil {
		return nil, err
	}
	p.Y.Max *= 1.6 // room for the legend
	canvas, err := p.WriterTo(width, height, "svg")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = canvas.WriteTo(&out)
	return out.Bytes(), err
}

// add draws a line for each tier and profile.
func add(p *plot.Plot, rows []row, figure, suffix string, dashed bool) error {
	for _, s := range series {
		var points plotter.XYs
		for _, r := range rows {
			if r["tier"] == s.tier && r["profile"] == s.profile {
				x, errX := strconv.ParseFloat(r["n"], 64)
				y, errY := strconv.ParseFloat(r[figure], 64)
				if err := errors.Join(errX, errY); err != nil {
					return err
				}
				points = append(points, plotter.XY{X: x, Y: y})
			}
		}
		if len(points) == 0 {
			return fmt.Errorf("the table of bursts has no rows for %s, %s", s.tier, s.profile)
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color, dots.Shape = s.color, s.color, draw.CircleGlyph{}
		p.Add(line)
		if dashed {
			line.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
			continue // the lines' colours name them; one entry explains the dashes
		}
		p.Add(dots)
		p.Legend.Add(s.tier+", "+s.profile+suffix, line, dots)
	}
	if dashed {
		line := &plotter.Line{LineStyle: draw.LineStyle{Color: color.Gray{0x66}, Width: vg.Points(1),
			Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}}
		p.Legend.Add("dashed: the platform's floor", line)
	}
	return nil
}

// floor is the least: one request for each NodeClaim.
func floor(p *plot.Plot, name string) error {
	line, err := plotter.NewLine(plotter.XYs{{X: 1, Y: 1}, {X: 500, Y: 500}})
	if err != nil {
		return err
	}
	line.Color, line.Dashes = color.Gray{0x66}, []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(line)
	p.Legend.Add("dashed: "+name, line)
	p.Y.Min = math.Max(p.Y.Min, 1)
	return nil
}

func ticks(values ...float64) plot.ConstantTicks {
	var all plot.ConstantTicks
	for _, v := range values {
		all = append(all, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return all
}

// row is a line of the table by its columns' names.
type row map[string]string

// bursts reads the first table below the heading.
func bursts(page string) ([]row, error) {
	_, section, found := strings.Cut(page, heading)
	if !found {
		return nil, errors.New("it has no section of bursts")
	}
	var columns []string
	var rows []row
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case columns == nil:
			columns = cells
		case strings.HasPrefix(line, "|--"):
		case len(cells) != len(columns):
			return nil, fmt.Errorf("a row of bursts has %d cells for %d columns: %s", len(cells), len(columns), line)
		default:
			r := row{}
			for i, name := range columns {
				r[name] = cells[i]
			}
			rows = append(rows, r)
		}
	}
	if !slices.Contains(columns, "floor_s") {
		return nil, errors.New("its section of bursts begins with another table")
	}
	return rows, nil
}
