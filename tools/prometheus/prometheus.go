// Package prometheus runs Prometheus in this process: its scraper, storage, query engine and rules, as in cmd/prometheus. Discovery, web
// interface and remote storage are left out, because they would double the number of modules that are built here.
//
// The end-to-end tests use it to scrape an operator and to evaluate the chart's alerts. grafana/cmd/panels uses it with samples that are
// further apart than they were scraped (see Lapse). A Server is safe for concurrent use.
//
// A query or an evaluation that takes longer than 30 seconds is an error. Close removes nothing: the folder is the caller's.
//
// A query may load a million samples. Evaluate returns each alert with its active series, and an error for a file that promtool would
// refuse.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	job          = "karpenter"
	maxSamples   = 1_000_000
	queryTimeout = 30 * time.Second
)

// Server is a running Prometheus with one target.
type Server struct {
	db      *tsdb.DB
	scraper *scrape.Manager
	engine  *promql.Engine
	lapse   lapse
	running sync.WaitGroup
	closed  sync.Once
}

// Start starts to scrape a URL once a second into a folder.
func Start(target, folder string) (*Server, error) { return StartLapse(target, folder, 1) }

// StartLapse is Start for a time lapse: from now on a second between two scrapes counts as several seconds.
func StartLapse(target, folder string, speed int) (*Server, error) {
	address, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("prometheus: %w", err)
	}
	settings, err := config.Load(fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: %s, metrics_path: %q, scheme: %s}]
`, job, address.Path, address.Scheme), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("prometheus: %w", err)
	}
	db, err := tsdb.Open(filepath.Join(folder, "data"), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return nil, fmt.Errorf("prometheus: %w", err)
	}
	s := &Server{db: db, engine: promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: queryTimeout}),
		lapse: lapse{began: time.Now(), speed: int64(speed)}}
	if s.scraper, err = scrape.NewManager(&scrape.Options{}, nil, nil, lapsed{db, s.lapse}, client.NewRegistry()); err == nil {
		err = s.scraper.ApplyConfig(settings)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prometheus: %w", err), db.Close())
	}
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- map[string][]*targetgroup.Group{job: {{Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address.Host)}}}}}
	s.running.Go(func() { _ = s.scraper.Run(targets) }) // returns after Stop, without an error
	return s, nil
}

// Close ends scraping.
func (s *Server) Close() error {
	var err error
	s.closed.Do(func() {
		s.scraper.Stop()
		s.running.Wait()
		err = errors.Join(s.engine.Close(), s.db.Close())
	})
	return err
}

// Now is the present time, stretched as the times of the samples are.
func (s *Server) Now() time.Time { return time.UnixMilli(s.lapse.at(time.Now().UnixMilli())) }

// Query evaluates an expression now. A scalar is returned as a vector with one sample.
func (s *Server) Query(ctx context.Context, expression string) (promql.Vector, error) {
	return rules.EngineQueryFunc(s.engine, s.db)(ctx, expression, s.Now())
}

// Range evaluates an expression at each step from start to end.
func (s *Server) Range(ctx context.Context, expression string, start, end time.Time, step time.Duration) (promql.Matrix, error) {
	query, err := s.engine.NewRangeQuery(ctx, s.db, nil, expression, start, end, step)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	answer := query.Exec(ctx)
	found, err := answer.Matrix()
	if err != nil {
		return nil, err
	}
	// The engine reuses the query's memory once the query is closed.
	kept := make(promql.Matrix, len(found))
	for i, series := range found {
		kept[i] = promql.Series{Metric: series.Metric, Floats: slices.Clone(series.Floats)}
	}
	return kept, nil
}

// Alert has the result of one evaluation of an alert's rule.
type Alert struct {
	Name   string
	Active []labels.Labels // series for which its condition holds
}

// Evaluate loads a file of rules, as promtool checks it, and evaluates each alert once.
func (s *Server) Evaluate(ctx context.Context, file string) ([]Alert, error) {
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(s.engine, s.db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Appendable: s.db, Queryable: s.db, Context: ctx, Registerer: client.NewRegistry(), ExternalURL: &url.URL{},
		Logger: slog.New(slog.DiscardHandler),
	})
	groups, problems := manager.LoadGroups(time.Second, labels.EmptyLabels(), "", nil, false, file)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	var found []Alert
	for _, group := range groups {
		group.Eval(ctx, s.Now())
		for _, rule := range group.AlertingRules() {
			if err := rule.LastError(); err != nil {
				return nil, fmt.Errorf("alert %s: %w", rule.Name(), err)
			}
			alert := Alert{Name: rule.Name()}
			for _, active := range rule.ActiveAlerts() {
				alert.Active = append(alert.Active, active.Labels)
			}
			found = append(found, alert)
		}
	}
	return found, nil
}
