package charttest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
)

// prometheusRule decodes the needed part of a PrometheusRule of the Prometheus operator.
type prometheusRule struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

const everyMonitor = `{prometheusRule: {enabled: true, additionalLabels: {release: prom}, alertLabels: {team: infra}}, grafanaDashboard: {enabled: true}}`

var labelInText = regexp.MustCompile(`\$labels\.([a-z_]+)`)

// Every alert's query is valid and names metrics of the controller, and its annotations explain what it means and
// what to do.
func TestAlerts(t *testing.T) {
	rule := get[prometheusRule](t, mustRender(t, "karpenter", quickstart, everyMonitor), "PrometheusRule", "karpenter")
	if l := rule.Metadata["labels"].(map[string]any); l["release"] != "prom" {
		t.Errorf("labels: %v", l)
	}
	help, err := os.ReadFile("../../docs/on-call.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, group := range rule.Spec.Groups {
		for _, alert := range group.Rules {
			t.Run(alert.Alert, func(t *testing.T) {
				available, problems := checkQuery(alert.Expr)
				for _, problem := range problems {
					t.Errorf("%s\n%s", problem, alert.Expr)
				}
				for _, text := range alert.Annotations {
					for _, found := range labelInText.FindAllStringSubmatch(text, -1) {
						if !available[found[1]] {
							t.Errorf("the text names the label %s, which the result does not have: %s", found[1], text)
						}
					}
				}
				if seen[alert.Alert] || !strings.HasPrefix(alert.Alert, "KarpenterLinode") {
					t.Errorf("its name comes twice or has another beginning")
				}
				seen[alert.Alert] = true
				if alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
					t.Errorf("annotations: %v", alert.Annotations)
				}
				want := "https://github.com/karpenter-linode/karpenter-linode/blob/main/docs/on-call.md#" + strings.ToLower(alert.Alert)
				if alert.Annotations["runbook_url"] != want {
					t.Errorf("runbook_url %q, expected %q", alert.Annotations["runbook_url"], want)
				}
				if !strings.Contains(string(help), "\n### "+alert.Alert+"\n") {
					t.Error("docs/on-call.md has no heading of its name")
				}
				if s := alert.Labels["severity"]; (s != "warning" && s != "critical") || alert.Labels["team"] != "infra" {
					t.Errorf("labels: %v", alert.Labels)
				}
				if _, err := model.ParseDuration(alert.For); err != nil {
					t.Errorf("for: %v", err)
				}
			})
		}
	}
	for _, spending := range []string{"KarpenterLinodeNodesNeverJoin", "KarpenterLinodeCeilingReached", "KarpenterLinodeAccountLimit",
		"KarpenterLinodePurchaseOverdue"} {
		if !seen[spending] {
			t.Errorf("there is no alert %s", spending)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d alerts", len(seen))
	}
}

// dashboard decodes the needed part of a Grafana dashboard.
type dashboard struct {
	Title      string `json:"title"`
	UID        string `json:"uid"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		GridPos struct {
			H, W, X, Y int
		} `json:"gridPos"`
		Targets []struct {
			Expr         string `json:"expr"`
			LegendFormat string `json:"legendFormat"`
		} `json:"targets"`
	} `json:"panels"`
}

var (
	labelInLegend = regexp.MustCompile(`\{\{ *([a-z_]+) *\}\}`)
	labelValues   = regexp.MustCompile(`^label_values\(([a-z_]+), ([a-z_]+)\)$`)
)

func TestDashboard(t *testing.T) {
	m := get[corev1.ConfigMap](t, mustRender(t, "karpenter", quickstart, everyMonitor), "ConfigMap", "karpenter-dashboard")
	if m.Labels["grafana_dashboard"] != "1" {
		t.Errorf("labels: %v", m.Labels)
	}
	var d dashboard
	if err := json.Unmarshal([]byte(m.Data["karpenter-linode.json"]), &d); err != nil {
		t.Fatal(err)
	}
	for _, variable := range d.Templating.List {
		if variable.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(variable.Query, &query); err != nil {
			t.Fatalf("variable %s: %v", variable.Name, err)
		}
		found := labelValues.FindStringSubmatch(query.Query)
		if found == nil {
			t.Fatalf("variable %s: %q", variable.Name, query.Query)
		}
		if available, ok := metricLabels(found[1]); !ok || !available[found[2]] {
			t.Errorf("variable %s: no metric %s with label %s", variable.Name, found[1], found[2])
		}
	}
	taken, ids, queries := map[string]string{}, map[int]bool{}, 0
	for _, panel := range d.Panels {
		if ids[panel.ID] {
			t.Errorf("panel %s: its ID comes twice", panel.Title)
		}
		ids[panel.ID] = true
		if place := fmt.Sprint(panel.GridPos.X, panel.GridPos.Y); taken[place] != "" || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("panel %s is outside, or where %s is", panel.Title, taken[place])
		} else {
			taken[place] = panel.Title
		}
		for _, q := range panel.Targets {
			queries++
			available, problems := checkQuery(strings.ReplaceAll(q.Expr, "$__rate_interval", "5m"))
			for _, problem := range problems {
				t.Errorf("panel %s: %s\n%s", panel.Title, problem, q.Expr)
			}
			for _, found := range labelInLegend.FindAllStringSubmatch(q.LegendFormat, -1) {
				if !available[found[1]] {
					t.Errorf("panel %s: the legend names the label %s, which the result does not have", panel.Title, found[1])
				}
			}
		}
	}
	if queries < 20 {
		t.Errorf("only %d queries", queries)
	}
}

func TestDashboardElsewhere(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart,
		`grafanaDashboard: {enabled: true, namespace: monitoring, labels: {grafana_dashboard: null, boards: "yes"}, annotations: {grafana_folder: Nodes}}`)
	m := get[corev1.ConfigMap](t, r, "ConfigMap", "karpenter-dashboard")
	if m.Namespace != "monitoring" || m.Labels["boards"] != "yes" || m.Annotations["grafana_folder"] != "Nodes" {
		t.Errorf("%s: labels %v, annotations %v", m.Namespace, m.Labels, m.Annotations)
	}
	if _, there := m.Labels["grafana_dashboard"]; there {
		t.Errorf("a label that was taken away is there: %v", m.Labels)
	}
}
