package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

// sizeRow is a row of the table in docs/metrics.md: nodes, pods, series that a replica exports, and series that Prometheus stores of them
// with serviceMonitor.keep: essential.
var sizeRow = regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$`)

// TestSeries counts the operator's series for each size of a cluster in docs/metrics.md.
func TestSeries(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repositoryRoot(t), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := sizeRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 3 {
		t.Fatalf("docs/metrics.md has %d sizes of a cluster", len(rows))
	}
	e := start(t, "series", "standard", nil)
	e.scenario(t, "series by the size of the cluster", func(t *testing.T, e *environment) {
		e.nodePool(t, nodePoolSpec{consolidate: "Never", types: []string{"g6-standard-1"}})
		for _, row := range rows {
			figures := make([]int, 4)
			for i := range figures {
				figures[i], _ = strconv.Atoi(row[i+1]) // digits
			}
			e.size(t, figures[0], figures[1])
			counted(t, e, figures)
		}
	})
}

// size brings the NodePool to a number of nodes, with a number of pods on them. The pods select the NodePool, because few of them fit on
// the user's own node.
func (e *environment) size(t *testing.T, nodes, pods int) {
	t.Helper()
	const ours = `
      nodeSelector: {karpenter.sh/nodepool: default}`
	e.apply(t, deployment("one", nodes, ours+requesting("10m")+`
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: one}}}`))
	e.settled(t, "one", nodes)
	e.apply(t, deployment("more", pods-nodes, ours+requesting("10m")))
	e.settled(t, "more", pods-nodes)
	NewWithT(t).Expect(e.nodeClaims(t.Context(), NewWithT(t))).To(HaveLen(nodes))
}

// counted compares the series of a scrape with a row of the page. A series appears when its event happens for the first time, so a tenth
// is allowed.
func counted(t *testing.T, e *environment, row []int) {
	t.Helper()
	g, keep := NewWithT(t), essential(t)
	var exported, stored int
	near := func() bool {
		text, err := fetch(t.Context(), e.Operator.MetricsURL())
		g.Expect(err).NotTo(HaveOccurred())
		exported, stored, err = prometheus.Series(strings.NewReader(text), keep)
		g.Expect(err).NotTo(HaveOccurred())
		return max(exported-row[2], row[2]-exported) <= row[2]/10 && max(stored-row[3], row[3]-stored) <= row[3]/10
	}
	for began := time.Now(); !near() && time.Since(began) < patience/8; {
		<-time.After(seldom)
	}
	seen := fmt.Sprintf("| %d | %d | %d | %d |", row[0], row[1], exported, stored)
	t.Log(seen)
	if !near() {
		t.Errorf("docs/metrics.md has | %d | %d | %d | %d |; now it is %s", row[0], row[1], row[2], row[3], seen)
	}
}

// essential returns what the chart's ServiceMonitor keeps with serviceMonitor.keep: essential.
func essential(t *testing.T) []*relabel.Config {
	t.Helper()
	rendered, err := charts.Render(charts.Release{
		Name: "karpenter", Namespace: "kube-system", Chart: filepath.Join(repositoryRoot(t), "charts", "karpenter"),
		Values: map[string]any{
			"apiToken": "unused", "settings": map[string]any{"clusterName": "series"},
			"serviceMonitor": map[string]any{"enabled": true, "keep": "essential"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range rendered {
		if strings.HasSuffix(name, "/servicemonitor.yaml") {
			keep, err := prometheus.Relabelings([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return keep
		}
	}
	t.Fatal("the chart has no ServiceMonitor")
	return nil
}
