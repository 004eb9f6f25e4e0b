package charttest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

// used are the selectors in the queries of the chart's alerts and dashboard.
func used(t *testing.T) (selectors []*parser.VectorSelector) {
	t.Helper()
	rendered := mustRender(t, "karpenter", quickstart, everyMonitor)
	var queries []string
	for _, group := range get[prometheusRule](t, rendered, "PrometheusRule", "karpenter").Spec.Groups {
		for _, rule := range group.Rules {
			queries = append(queries, rule.Expr)
		}
	}
	text, err := os.ReadFile("../../charts/karpenter/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$__interval", "1m").Replace(target.Expr))
		}
	}
	for _, query := range queries {
		expression, err := parser.ParseExpr(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if selector, ok := node.(*parser.VectorSelector); ok {
				selectors = append(selectors, selector)
			}
			return nil
		})
	}
	return selectors
}

// keeping are the relabelings that a ServiceMonitor has for what Prometheus stores.
func keeping(t *testing.T, values string) []*relabel.Config {
	t.Helper()
	monitor, err := json.Marshal(get[map[string]any](t, mustRender(t, "karpenter", quickstart, values), "ServiceMonitor", "karpenter"))
	if err != nil {
		t.Fatal(err)
	}
	configs, err := prometheus.Relabelings(monitor)
	if err != nil {
		t.Fatal(err)
	}
	return configs
}

func stored(configs []*relabel.Config, series ...string) bool {
	_, keep := relabel.Process(promlabels.FromStrings(series...), configs...)
	return keep
}

// serviceMonitor.keep: essential stores what an alert or a panel of the dashboard needs, and nothing that no query needs.
func TestEssentialMetricsAreThoseOfAlertsAndDashboard(t *testing.T) {
	configs := keeping(t, `{serviceMonitor: {enabled: true, keep: essential}}`)
	needed := map[string]bool{}
	for _, selector := range used(t) {
		needed[selector.Name] = true
		series := []string{"__name__", selector.Name}
		for _, m := range selector.LabelMatchers {
			if m.Name != "__name__" && m.Type == promlabels.MatchEqual {
				series = append(series, m.Name, m.Value)
			}
		}
		if !stored(configs, series...) {
			t.Errorf("%s is needed and not stored", selector)
		}
	}
	text, err := os.ReadFile("../../charts/karpenter/files/essential-metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(text))
	for _, name := range names {
		if !needed[name] {
			t.Errorf("%s is stored, and no alert and no panel needs it", name)
		}
	}
	if !slices.IsSorted(names) {
		t.Error("the list is not in order")
	}
	for _, dropped := range [][]string{
		{"__name__", "karpenter_pods_state", "scheduled", "true"},
		{"__name__", "go_gc_duration_seconds"},
		{"__name__", "workqueue_depth"},
		{"__name__", "karpenter_linode_claims_total_of_another"},
	} {
		if stored(configs, dropped...) {
			t.Errorf("%v is stored", dropped)
		}
	}
}

func TestAllMetricsAreStoredWithoutTheSetting(t *testing.T) {
	if configs := keeping(t, `{serviceMonitor: {enabled: true}}`); len(configs) > 0 {
		t.Errorf("relabelings %+v", configs)
	}
	both := keeping(t, `{serviceMonitor: {enabled: true, keep: essential, metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: process_.*}]}}`)
	if len(both) != 2 || stored(both, "__name__", "process_cpu_seconds_total") || !stored(both, "__name__", "karpenter_build_info") {
		t.Errorf("a user's relabelings do not follow: %+v", both)
	}
}
