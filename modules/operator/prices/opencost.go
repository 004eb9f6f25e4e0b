// Package prices writes the prices of plans for other programs.
//
// It is called by cmd/controller. Prices are those of the Linode API in USD, by region: no discount, no transfer, no
// volumes.
package prices

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
)

// Columns of OpenCost's CSV provider, in its order (opencost pkg/cloud/provider/csvprovider.go).
var columns = []string{"EndTimestamp", "InstanceID", "Region", "AssetClass", "InstanceIDField", "InstanceType", "MarketPriceHourly", "Version"}

// byType is where OpenCost finds in a Node what the column InstanceID has: the label with the plan's ID. A price list by
// plan stays right when nodes come and go.
const byType = "metadata.labels.node.kubernetes.io/instance-type"

// OpenCost writes a price list for OpenCost's CSV provider: a row for each plan with a price in each region.
func OpenCost(w io.Writer, plans []instancetype.Plan, regions []string) error {
	table := csv.NewWriter(w)
	rows := [][]string{columns}
	for _, region := range regions {
		for _, plan := range plans {
			if price := plan.Price(region); price > 0 {
				rows = append(rows, []string{"", plan.ID, region, "node", byType, plan.ID, Hourly(price), "v1"})
			}
		}
	}
	if len(rows) == 1 {
		return fmt.Errorf("none of %d plans has a price in %v", len(plans), regions)
	}
	return table.WriteAll(rows)
}

// Hourly is a price as text, in as many digits as it has; it can be the value of a label.
func Hourly(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }
