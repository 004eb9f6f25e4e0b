package reference

import (
	"context"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/plans"
)

// Plans returns the page docs/plans.md: what `controller plans` prints, for all regions, of the simulator's plans.
func Plans(string) (string, error) {
	shown, err := simulatedPlans(context.Background())
	if err != nil {
		return "", err
	}
	regions := make([]string, 0, len(shown.Regions))
	for _, region := range shown.Regions {
		regions = append(regions, code(region.ID))
	}
	denied := slices.DeleteFunc(slices.Clone(shown.Plans), func(p instancetype.Plan) bool { return p.Excluded(shown.Selection) == "" })
	names := make([]string, 0, len(denied))
	for _, plan := range denied {
		names = append(names, code(plan.ID))
	}
	shown.Plans = slices.DeleteFunc(slices.Clone(shown.Plans), func(p instancetype.Plan) bool { return p.Excluded(shown.Selection) != "" })
	return strings.Join([]string{
		generated("the plans of modules/linodesim/catalog, as modules/operator would offer them"),
		plansIntroduction, plans.Markdown(shown),
		"Denied by the default of `PLANS_DENY`, which [can be changed](instance-types.md#allow-and-deny): " + strings.Join(names, ", ") + ".\n",
		"Regions: " + strings.Join(regions, ", ") + ".\n",
	}, "\n"), nil
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
	shown := plans.Shown{Selection: o.Plans(), MemoryOverhead: o.VMMemoryOverhead}
	if shown.Plans, err = instancetype.Plans(ctx, client); err != nil {
		return plans.Shown{}, err
	}
	for region, err := range client.ListRegions(ctx, linode.Filter{}) {
		if err != nil {
			return plans.Shown{}, err
		}
		if !slices.Contains(region.Capabilities, "Kubernetes") {
			continue
		}
		availability, err := instancetype.Availability(ctx, client, region.ID)
		if err != nil {
			return plans.Shown{}, err
		}
		shown.Regions = append(shown.Regions, plans.Region{ID: region.ID, Availability: availability})
	}
	return shown, nil
}

const plansIntroduction = `# Plans

What a NodePool can buy, cheapest first: size, what a node has to allocate for pods (an [estimate](instance-types.md#what-a-node-holds) before the first node), price and availability. Plans, prices
and availability are those of the simulator, which are Linode's of 2024; today's are in

` + "```sh" + `
kubectl --namespace "$KARPENTER_NAMESPACE" exec deployment/karpenter -- controller plans
kubectl --namespace "$KARPENTER_NAMESPACE" exec deployment/karpenter -- controller plans --nodepool default
make plans NODEPOOL=default   # the same on the local cluster
` + "```" + `

The second prints what one NodePool could buy, and for each other plan the requirement that excludes it. ` + "`--regions us-ord,id-cgk`" + ` or ` + "`--regions all`" + ` compares regions.
`
