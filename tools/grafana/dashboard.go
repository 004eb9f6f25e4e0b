// Package grafana reads a Grafana dashboard and sends its panels' queries to a Prometheus. It replaces Grafana's variables in
// the queries as Grafana does.
//
// Callers are the end-to-end test that scrapes an operator, and cmd/panels, whose output the page in panels draws.
// The folder schema has the types with which the chart's dashboard is checked. A variable of the dashboard always has the
// value All, because no user chooses another value.
//
// A panel's line has at most 240 points. A rate is computed over a minute at least. An error names the panel and the query.
package grafana

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
)

const (
	points         = 240         // the most points of a panel's line
	scrapeInterval = time.Second // of tools/prometheus
	// Grafana's $__rate_interval is at least the time of four scrapes. Grafana's data source assumes a scrape every 15 s.
	shortestRate = time.Minute
)

// Dashboard has the queries of a dashboard's panels.
type Dashboard struct {
	Templating struct {
		List []struct {
			Name     string `json:"name"`
			Type     string `json:"type"`
			AllValue string `json:"allValue"`
		} `json:"list"`
	} `json:"templating"`
	Panels []Panel `json:"panels"`

	raw json.RawMessage
}

// Panel is one panel with its queries; a row of panels has no queries.
type Panel struct {
	ID      int      `json:"id"`
	Title   string   `json:"title"`
	Targets []Target `json:"targets"`
}

// Target is one query of a panel.
type Target struct {
	RefID   string `json:"refId"`
	Expr    string `json:"expr"`
	Instant bool   `json:"instant"`
}

// Prometheus evaluates expressions; *prometheus.Server does.
type Prometheus interface {
	Query(ctx context.Context, expression string) (promql.Vector, error)
	Range(ctx context.Context, expression string, start, end time.Time, step time.Duration) (promql.Matrix, error)
}

// Answered is a dashboard with the data of its panels, in the form that the page in panels reads.
type Answered struct {
	From      int64                            `json:"from"` // milliseconds since 1970
	To        int64                            `json:"to"`
	Step      int64                            `json:"step"`
	Dashboard json.RawMessage                  `json:"dashboard"`
	Answers   map[int]map[string]promql.Matrix `json:"answers"` // by panel and query
}

// Empty returns the titles of panels whose queries all have no data.
func (a *Answered) Empty() ([]string, error) {
	var d Dashboard
	if err := json.Unmarshal(a.Dashboard, &d); err != nil {
		return nil, err
	}
	var empty []string
	for _, panel := range d.Panels {
		data := 0
		for _, target := range panel.Targets {
			data += len(a.Answers[panel.ID][target.RefID])
		}
		if data == 0 && len(panel.Targets) > 0 {
			empty = append(empty, panel.Title)
		}
	}
	return empty, nil
}

// Load reads a dashboard from a file.
func Load(file string) (*Dashboard, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &Dashboard{raw: raw}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// Query returns the data of every panel for the time between from and to.
func (d *Dashboard) Query(ctx context.Context, p Prometheus, from, to time.Time) (*Answered, error) {
	step := max(scrapeInterval, (to.Sub(from) / points).Truncate(time.Second))
	a := &Answered{From: from.UnixMilli(), To: to.UnixMilli(), Step: step.Milliseconds(), Dashboard: d.raw,
		Answers: map[int]map[string]promql.Matrix{}}
	for _, panel := range d.Panels {
		a.Answers[panel.ID] = map[string]promql.Matrix{}
		for _, target := range panel.Targets {
			expression := d.Replaced(target.Expr, step)
			ask := func() (promql.Matrix, error) { return p.Range(ctx, expression, from, to, step) }
			if target.Instant {
				ask = func() (promql.Matrix, error) { return now(ctx, p, expression) }
			}
			found, err := ask()
			if err != nil {
				return nil, fmt.Errorf("panel %s, query %s: %w", panel.Title, target.RefID, err)
			}
			a.Answers[panel.ID][target.RefID] = found
		}
	}
	return a, nil
}

// now queries the present value of each series. The series keep the order of the answer, which for topk is the order of the values.
func now(ctx context.Context, p Prometheus, expression string) (promql.Matrix, error) {
	found, err := p.Query(ctx, expression)
	series := make(promql.Matrix, len(found))
	for i, sample := range found {
		series[i] = promql.Series{Metric: sample.Metric, Floats: []promql.FPoint{{T: sample.T, F: sample.F}}}
	}
	return series, err
}

// Replaced is an expression with values in place of variables.
func (d *Dashboard) Replaced(expression string, step time.Duration) string {
	rate := max(step+scrapeInterval, shortestRate)
	expression = strings.ReplaceAll(expression, "$__rate_interval", rate.String())
	for _, variable := range d.Templating.List {
		if variable.Type == "query" {
			expression = strings.ReplaceAll(expression, "$"+variable.Name, variable.AllValue)
		}
	}
	return expression
}
