package plans

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// Columns of OpenCost's CSV provider, in its order (opencost pkg/cloud/provider/csvprovider.go).
var columns = []string{"EndTimestamp", "InstanceID", "Region", "AssetClass", "InstanceIDField", "InstanceType", "MarketPriceHourly",
	"Version"}

// byType is the field of a Node that OpenCost compares with the column InstanceID: the label with the plan's ID. A price list by plan
// stays right when nodes come and go.
const byType = "metadata.labels.node.kubernetes.io/instance-type"

// A Price has the cost of one plan in one region.
type Price struct {
	Plan   string  `json:"plan"`
	Region string  `json:"region"`
	Hourly float64 `json:"hourly"` // USD
}

// OpenCostPrices returns the price of each plan in each region, region by region. Plans without a price are left out.
func OpenCostPrices(plans []catalog.Plan, regions []string) (prices []Price, _ error) {
	for _, region := range regions {
		for _, plan := range plans {
			if hourly := plan.PriceIn(region).Hourly; hourly > 0 {
				prices = append(prices, Price{plan.ID, region, hourly})
			}
		}
	}
	if len(prices) == 0 {
		return nil, fmt.Errorf("no plan of %d has a price in %v", len(plans), regions)
	}
	return prices, nil
}

// OpenCost writes a price list for OpenCost's CSV provider: a row for each plan with a price in each region.
func OpenCost(w io.Writer, plans []catalog.Plan, regions []string) error {
	prices, err := OpenCostPrices(plans, regions)
	if err != nil {
		return err
	}
	table := csv.NewWriter(w)
	rows := [][]string{columns}
	for _, p := range prices {
		rows = append(rows, []string{"", p.Plan, p.Region, "node", byType, p.Plan, dollars(p.Hourly), "v1"})
	}
	return table.WriteAll(rows)
}
