package reference

import (
	"context"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/plans"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Plans returns the page docs/plans.md: the output of `karpenter-linode plans` for the simulator's plans in all regions.
func Plans(string) (string, error) {
	shown, err := simulatedPlans(context.Background())
	if err != nil {
		return "", err
	}
	regions := make([]string, 0, len(shown.Regions))
	for _, region := range shown.Regions {
		regions = append(regions, region.ID)
	}
	denied := slices.DeleteFunc(slices.Clone(shown.Plans), func(p catalog.Plan) bool { return p.Excluded(shown.Selection) == "" })
	names := make([]string, 0, len(denied))
	for _, plan := range denied {
		names = append(names, plan.ID)
	}
	shown.Plans = slices.DeleteFunc(slices.Clone(shown.Plans), func(p catalog.Plan) bool { return p.Excluded(shown.Selection) != "" })
	return page("plans", map[string]string{"Plans": plans.Markdown(shown), "Denied": codes(names), "Regions": codes(regions)})
}

func simulatedPlans(ctx context.Context) (plans.Shown, error) {
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		return plans.Shown{}, err
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		return plans.Shown{}, err
	}
	o, err := options.Parse(nil, func(name string) (string, bool) {
		value, set := map[string]string{"LINODE_TOKEN": "-", "CLUSTER_NAME": "-"}[name]
		return value, set
	})
	if err != nil {
		return plans.Shown{}, err
	}
	shown := plans.Shown{Selection: o.Plans()}
	if shown.Plans, err = catalog.Plans(ctx, client); err != nil {
		return plans.Shown{}, err
	}
	for region, err := range client.ListRegions(ctx, linode.Filter{}) {
		if err != nil {
			return plans.Shown{}, err
		}
		if !slices.Contains(region.Capabilities, "Kubernetes") {
			continue
		}
		availability, err := catalog.Availability(ctx, client, region.ID)
		if err != nil {
			return plans.Shown{}, err
		}
		shown.Regions = append(shown.Regions, plans.Region{ID: region.ID, Availability: availability})
	}
	return shown, nil
}
