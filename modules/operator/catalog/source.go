package catalog

import (
	"context"
	"fmt"
	"iter"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// API has the reads of a Catalog. *linode.Client implements it.
type API interface {
	ListTypes(ctx context.Context, filter linode.Filter) iter.Seq2[api.LinodeType, error]
	RegionAvailability(ctx context.Context, region string) ([]api.RegionAvailability, error)
}

// Plans reads all plans.
func Plans(ctx context.Context, client API) (plans []Plan, err error) {
	for t, err := range client.ListTypes(ctx, linode.Filter{}) {
		if err != nil {
			return nil, fmt.Errorf("reading Linode types: %w", err)
		}
		plans = append(plans, Plan(t))
	}
	return plans, nil
}

// Availability reads whether plans can be bought in a region. Only plans of restricted availability have an entry.
func Availability(ctx context.Context, client API, region string) (map[string]bool, error) {
	rows, err := client.RegionAvailability(ctx, region)
	if err != nil {
		return nil, fmt.Errorf("reading the availability of Linode types in %s: %w", region, err)
	}
	available := map[string]bool{}
	for _, row := range rows {
		if row.Region == region {
			available[row.Plan] = row.Available
		}
	}
	return available, nil
}
