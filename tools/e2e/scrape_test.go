package e2e_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

// scraped lets Prometheus scrape the operator while a node comes: the metrics that the pages name are there, and each of the
// chart's alerts is one that Prometheus loads and evaluates. None is active on a cluster where all is well, apart from one
// about what has just begun; all the operators' metrics missing is what the first one is for.
func scraped(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	server, err := prometheus.Start(e.Operator.MetricsURL(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	e.nodePool(t, nodePoolSpec{})
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
	alerts, err := server.Evaluate(ctx, filepath.Join(repositoryRoot(t), "charts", "karpenter", "files", "alerts.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(alerts)).To(BeNumerically(">=", 10))
	for _, alert := range alerts {
		g.Expect(alert.Active).To(BeEmpty(), "alert %s on a cluster where all is well", alert.Name)
	}
}
