package whatif_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
)

// Charts name their colours, say which way is cheaper, and have each label whole.
func TestChartsOfTheHTMLReport(t *testing.T) {
	const long = "with standard and dedicated plans of at most 4 vCPUs"
	report := &whatif.Report{
		Region: "us-ord", Totals: whatif.Totals{TodayMonthly: 100, ThenMonthly: 80, Difference: -20},
		Today: []whatif.Group{{Pool: "LKE pool 7", Plan: "g6-standard-4", Nodes: 2, Monthly: 100}},
		Then: []whatif.Group{{Pool: "NodePool a", Plan: "g6-standard-2", Nodes: 1, Monthly: 50, CPUUsed: 0.5, MemoryUsed: 1.2},
			{Pool: "NodePool b", Plan: "g6-standard-2", Nodes: 1, Monthly: 30}},
		Sensitivity: []whatif.Variation{{NodePool: "a-nodepool-with-a-long-name", Change: long, Difference: -48},
			{NodePool: "b", Change: "without g6-standard-2", Difference: 96, Unplaced: 1}, {NodePool: "b", Change: "with standard plans"}},
	}
	var out bytes.Buffer
	if err := report.WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for name, want := range map[string]string{
		"a key for each group":       `<li><i class="s1"></i>NodePool a, g6-standard-2: 1 node, $50</li><li><i class="s2"></i>NodePool b,`,
		"a key for usage":            `<li><i class="s0"></i>CPU</li><li><i class="s3"></i>memory</li>`,
		"a key for directions":       `<li><i class="s2"></i>cheaper</li><li><i class="s4"></i>dearer</li>`,
		"a label in full":            `<span class="label">a-nodepool-with-a-long-name ` + long + `</span>`,
		"cheaper goes to the left":   `<span class="half less"><span class="bar s2" style="width:50%" title="$48 less"></span></span><span class="half"></span>`,
		"dearer goes to the right":   `<span class="half less"></span><span class="half"><span class="bar s4" style="width:100%" title="$96 more"></span></span>`,
		"signs in words":             `<span class="value">$48 less</span>`,
		"pods without a node":        `<span class="value">$96 more, 1 pod without a node</span>`,
		"no difference":              `<span class="value">the same</span>`,
		"a bar ends at its capacity": `<span class="bar s3" style="width:100%" title="memory"></span></span><span class="value">120%</span>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: no %s in\n%s", name, want, page)
		}
	}
	if strings.Contains(page, "before consolidation") {
		t.Error("there was no consolidation")
	}
}
