package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// The table of docs/node-size.md has what the operator plans with before a node was seen.
func TestTheTableOfMemoryIsTheEstimate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "node-size.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) GiB \| (\d+) MiB \| (\d+) MiB \|$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) < 8 {
		t.Fatalf("found %d rows", len(rows))
	}
	for _, row := range rows {
		gib, _ := strconv.Atoi(row[1])
		for i, tier := range []string{status.TierStandard, status.TierEnterprise} {
			plan := catalog.Plan{ID: "plan", VCPUs: 1, Memory: gib << 10, Disk: 51200}
			allocatable := catalog.Convert(plan, true, catalog.Settings{Region: "us-ord", Tier: tier}).Allocatable()
			if want := strconv.FormatInt(allocatable.Memory().Value()>>20, 10); row[2+i] != want {
				t.Errorf("%d GiB on %s: the page has %s MiB, the operator %s", gib, tier, row[2+i], want)
			}
		}
	}
}
