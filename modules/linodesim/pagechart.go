package linodesim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The charts show the last ten minutes, in steps.
const (
	chartStep  = 5 * time.Second
	chartSteps = 120
	// Size of the drawing, in its own units; a browser stretches it.
	chartWidth, chartHeight = 600, 60
)

// pageChart is a curve for the page's SVG.
type pageChart struct {
	Title     string
	Now, Most int
	Points    string // x,y pairs from left to right
}

// steps counts the requests in each step of time.
type steps map[int64]int

func stepOf(at time.Time) int64 { return at.UnixNano() / int64(chartStep) }

// add counts a request, and forgets the steps that no chart shows any more.
func (s steps) add(at time.Time) {
	now := stepOf(at)
	s[now]++
	if len(s) > 2*chartSteps {
		for step := range s {
			if step <= now-chartSteps {
				delete(s, step)
			}
		}
	}
}

// callChart draws how many requests came in each step.
func (s *Sim) callChart(now time.Time) pageChart {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	values, last := make([]int, chartSteps), stepOf(now)
	for i := range values {
		values[i] = s.journal.steps[last-chartSteps+1+int64(i)]
	}
	return chart(fmt.Sprintf("API calls in %s", chartStep), values)
}

// instanceChart draws the number of Linodes at the end of each step. It begins with the present number and goes back
// through the audit log.
func instanceChart(now time.Time, alive int, audit []Entry) pageChart {
	values, last, at := make([]int, chartSteps), stepOf(now), chartSteps-1
	values[at] = alive
	for _, entry := range slices.Backward(audit) {
		for at > 0 && stepOf(entry.At) < last-int64(chartSteps-1-at) {
			at--
			values[at] = alive
		}
		if at == 0 {
			break
		}
		switch entry.Action {
		case InstanceCreated:
			alive--
		case InstanceGone:
			alive++
		}
	}
	for ; at > 0; at-- {
		values[at-1] = alive
	}
	return chart("Linodes", values)
}

func chart(title string, values []int) pageChart {
	c := pageChart{Title: title, Now: values[len(values)-1], Most: slices.Max(values)}
	var points strings.Builder
	width := float64(chartWidth) / float64(len(values))
	for i, v := range values {
		y := chartHeight - float64(chartHeight)*float64(v)/float64(max(1, c.Most))
		fmt.Fprintf(&points, "%.0f,%.1f %.0f,%.1f ", float64(i)*width, y, float64(i+1)*width, y)
	}
	c.Points = strings.TrimSpace(points.String())
	return c
}
