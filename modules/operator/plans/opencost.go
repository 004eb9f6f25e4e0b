package plans

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
)

// Columns of OpenCost's CSV provider, in its order (opencost pkg/cloud/provider/csvprovider.go).
var columns = []string{"EndTimestamp", "InstanceID", "Region", "AssetClass", "InstanceIDField", "InstanceType", "MarketPriceHourly",
	"Version"}

// byType is where OpenCost finds in a Node what the column InstanceID has: the label with the plan's ID. A price list by
// plan stays right when nodes come and go.
const byType = "metadata.labels.node.kubernetes.io/instance-type"

// OpenCost writes a price list for OpenCost's CSV provider: a row for each plan with a price in each region.
func OpenCost(w io.Writer, plans []instancetype.Plan, regions []string) error {
	table := csv.NewWriter(w)
	rows := [][]string{columns}
	for _, region := range regions {
		for _, plan := range plans {
			if price := plan.PriceIn(region).Hourly; price > 0 {
				rows = append(rows, []string{"", plan.ID, region, "node", byType, plan.ID, dollars(price), "v1"})
			}
		}
	}
	if len(rows) == 1 {
		return fmt.Errorf("none of %d plans has a price in %v", len(plans), regions)
	}
	return table.WriteAll(rows)
}
