package prometheus

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"sigs.k8s.io/yaml"
)

// Relabelings returns the metricRelabelings of the first endpoint of a ServiceMonitor in YAML, which Prometheus applies to series before it
// stores them. Supported are the actions keep and drop with a regular expression.
func Relabelings(serviceMonitor []byte) ([]*relabel.Config, error) {
	var monitor struct {
		Spec struct {
			Endpoints []struct {
				MetricRelabelings []struct {
					Action       relabel.Action    `json:"action"`
					SourceLabels []model.LabelName `json:"sourceLabels"`
					Separator    string            `json:"separator"`
					Regex        string            `json:"regex"`
				} `json:"metricRelabelings"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(serviceMonitor, &monitor); err != nil {
		return nil, err
	}
	if len(monitor.Spec.Endpoints) == 0 {
		return nil, errors.New("the ServiceMonitor has no endpoint")
	}
	var all []*relabel.Config
	for _, r := range monitor.Spec.Endpoints[0].MetricRelabelings {
		regex, err := relabel.NewRegexp(r.Regex)
		if err != nil {
			return nil, err
		}
		config := relabel.DefaultRelabelConfig
		config.Action, config.SourceLabels, config.Regex = r.Action, r.SourceLabels, regex
		config.Separator = cmp.Or(r.Separator, config.Separator)
		all = append(all, &config)
	}
	return all, nil
}

// Series counts the series of a scrape, and the series that Prometheus stores after relabelings. The text is the body of the scrape.
func Series(text io.Reader, relabelings []*relabel.Config) (exported, stored int, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return 0, 0, fmt.Errorf("reading a scrape: %w", err)
	}
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
		if err != nil {
			return 0, 0, err
		}
		for _, sample := range samples {
			series := labels.NewBuilder(labels.EmptyLabels())
			for name, value := range sample.Metric {
				series.Set(string(name), string(value))
			}
			exported++
			if _, keep := relabel.Process(series.Labels(), relabelings...); keep {
				stored++
			}
		}
	}
	return exported, stored, nil
}
