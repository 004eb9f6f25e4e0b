package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/karpenter-linode/karpenter-linode/tools/grafana"
	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

// scraped lets Prometheus scrape the operator while a node comes: the metrics that the pages name exist, and Prometheus can evaluate each
// query of the chart's dashboard and each alert of the chart. No alert is active on a healthy cluster.
func scraped(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	began := time.Now()
	server, err := prometheus.Start(e.Operator.MetricsURL(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	e.nodePool(t, nodePoolSpec{limits: "{cpu: 1000}"})
	e.apply(t, deployment("seen", 1, ""))
	e.settled(t, "seen", 1)
	for expression, least := range map[string]float64{
		`up{job="karpenter"}`:                      1,
		`count(karpenter_build_info)`:              1,
		`sum(karpenter_nodes_created_total)`:       1,
		`sum(karpenter_nodeclaims_created_total)`:  1,
		`count({__name__=~"karpenter_linode_.*"})`: 5,
	} {
		g.Eventually(ctx, func(g Gomega) {
			found, err := server.Query(ctx, expression)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(HaveLen(1), expression)
			g.Expect(found[0].F).To(BeNumerically(">=", least), expression)
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	}
	charts := filepath.Join(repositoryRoot(t), "charts", "karpenter", "files")
	drawable(t, server, filepath.Join(charts, "dashboard.json"), began)
	documented(t, server)
	alerts, err := server.Evaluate(ctx, filepath.Join(charts, "alerts.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(alerts)).To(BeNumerically(">=", 10))
	for _, alert := range alerts {
		g.Expect(alert.Active).To(BeEmpty(), "alert %s on a cluster where all is well", alert.Name)
	}
}

// unhappened are metrics of the dashboard that have no series before what they count has happened: an error, a repetition,
// the end of a node, a wait, a scrape in the seconds of a launch. tools/charttest finds them among what the operator declares.
var unhappened = []string{
	"controller_runtime_reconcile_errors_total",
	"karpenter_cloudprovider_errors_total",
	"karpenter_linode_api_limiter_wait_seconds_bucket",
	"karpenter_linode_api_retries_total",
	"karpenter_linode_collected_total",
	"karpenter_linode_offering_refusals_total",
	"karpenter_nodeclaims_terminated_total",
	"karpenter_nodepools_limit", // of NodePools with limits
	"karpenter_pods_eviction_requests_total",
	"karpenter_voluntary_disruption_decisions_total",
	"karpenter_pods_state",            // of pods that wait
	"operator_status_condition_count", // with a status other than True
}

// drawable repeats the queries of the dashboard's panels until each of their metrics was scraped, and each panel has data to draw
// unless its events have not occurred. A rate needs two scrapes.
func drawable(t *testing.T, server *prometheus.Server, file string, began time.Time) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	dashboard, err := grafana.Load(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(ctx, func(g Gomega) {
		answered, err := dashboard.Query(ctx, server, began, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		scraped, queries := series(ctx, g, server), 0
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				queries++
				expression, err := parser.ParseExpr(dashboard.Replaced(target.Expr, time.Second))
				g.Expect(err).NotTo(HaveOccurred(), target.Expr)
				happened := true
				for _, name := range selected(expression) {
					absent := slices.Contains(unhappened, name)
					happened = happened && !absent
					g.Expect(scraped[name] || absent).To(BeTrue(), "panel %s: the operator exports no %s", panel.Title, name)
				}
				if happened {
					g.Expect(answered.Answers[panel.ID][target.RefID]).NotTo(BeEmpty(), "panel %s draws %s", panel.Title, target.Expr)
				}
			}
		}
		g.Expect(queries).To(BeNumerically(">=", 20))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// selected are the metrics of an expression.
func selected(expression parser.Expr) []string {
	var names []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

// series are the names of all that was scraped.
func series(ctx context.Context, g Gomega, server *prometheus.Server) map[string]bool {
	found, err := server.Query(ctx, `count by (__name__) ({__name__=~".+"})`)
	g.Expect(err).NotTo(HaveOccurred())
	names := map[string]bool{}
	for _, sample := range found {
		names[sample.Metric.Get("__name__")] = true
	}
	return names
}

var ofHistogram = regexp.MustCompile(`_(bucket|sum|count)$`)

// documented finds each of Karpenter's metrics that was scraped in the page about them.
func documented(t *testing.T, server *prometheus.Server) {
	t.Helper()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(repositoryRoot(t), "docs", "metrics.md"))
	g.Expect(err).NotTo(HaveOccurred())
	found := 0
	for name := range series(t.Context(), g, server) {
		if !strings.HasPrefix(name, "karpenter_") {
			continue
		}
		found++
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+ofHistogram.ReplaceAllString(name, "")+"`") {
			t.Errorf("docs/metrics.md does not have %s", name)
		}
	}
	g.Expect(found).To(BeNumerically(">=", 40))
}
