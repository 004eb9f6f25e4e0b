package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// leaderMetric is a metric of controller-runtime. It is 1 in the process that holds the Lease.
const leaderMetric = "leader_election_master_status"

// metricsTimeout bounds a request for metrics. A frozen process accepts connections and never answers. A process on a busy machine takes
// seconds for its answer.
const metricsTimeout = 15 * time.Second

var errNoLeader = errors.New("no replica of the operator leads")

// Leader is the replica that leads, by its own metrics. After a replica was frozen, two
// replicas may report for a moment that they lead. Then Leader returns the first of them.
func (c *Cluster) Leader(ctx context.Context) (*Operator, error) {
	problem := errNoLeader
	for _, operator := range c.Operators {
		if !operator.Running() {
			continue
		}
		families, err := operator.Metrics(ctx)
		if err != nil {
			problem = errors.Join(problem, err)
			continue
		}
		for _, metric := range families[leaderMetric].GetMetric() {
			if metric.GetGauge().GetValue() == 1 {
				return operator, nil
			}
		}
	}
	return nil, problem
}

// Metrics reads the replica's metrics, by their names.
func (o *Operator) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.MetricsURL(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", o.name(), err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", o.name(), err)
	}
	return families, nil
}
