package instancetype

import (
	"context"
	"iter"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// API is what a Catalog reads; *linode.Client is one.
type API interface {
	ListTypes(ctx context.Context, filter linode.Filter) iter.Seq2[api.LinodeType, error]
	RegionAvailability(ctx context.Context, region string) ([]api.RegionAvailability, error)
}

// FromAPI is the Source that reads the Linode API.
func FromAPI(client API) Source { return source{client} }

type source struct{ client API }

func (s source) Plans(ctx context.Context) ([]Plan, error) {
	var plans []Plan
	for t, err := range s.client.ListTypes(ctx, linode.Filter{}) {
		if err != nil {
			return nil, err
		}
		plans = append(plans, PlanOf(t))
	}
	return plans, nil
}

func (s source) Availability(ctx context.Context, region string) (map[string]bool, error) {
	rows, err := s.client.RegionAvailability(ctx, region)
	if err != nil {
		return nil, err
	}
	available := map[string]bool{}
	for _, row := range rows {
		if row.Region == region {
			available[row.Plan] = row.Available
		}
	}
	return available, nil
}

// PlanOf takes from an API type what matters here.
func PlanOf(t api.LinodeType) Plan {
	p := Plan{
		ID: t.ID, Class: string(t.Class),
		VCPUs: t.VCPUs, GPUs: t.GPUs, MemoryMB: t.Memory, DiskMB: t.Disk,
		TransferGB: t.Transfer, NetworkOutMbit: t.NetworkOut,
		HourlyUSD: float64(t.Price.Hourly), RegionHourlyUSD: map[string]float64{},
		MonthlyUSD: float64(t.Price.Monthly), RegionMonthlyUSD: map[string]float64{},
	}
	if t.AcceleratedDevices != nil {
		p.AcceleratedDevices = *t.AcceleratedDevices
	}
	for _, price := range t.RegionPrices {
		p.RegionHourlyUSD[price.ID] = float64(price.Hourly)
		p.RegionMonthlyUSD[price.ID] = float64(price.Monthly)
	}
	return p
}
