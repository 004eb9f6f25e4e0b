package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/plans"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// allRegions stands for all regions with Kubernetes.
const allRegions = "all"

func newPlans() *cobra.Command {
	from, cost, out := &source{}, &prices{}, &format{}
	var regions []string
	var nodePool string
	cmd := &cobra.Command{
		Use:   "plans",
		Short: "What can be bought: size, allocatable, price and availability by region",
		Long: "plans prints Linode's plans. With --nodepool it prints which of them a NodePool could buy, cheapest first, and what excludes " +
			"the others. Without --regions the region of the cluster's nodes counts.",
		Example: "  karpenter-linode plans --regions us-ord,id-cgk\n  karpenter-linode plans --nodepool default\n" +
			"  karpenter-linode plans --nodepools nodepool.yaml --nodepool default --regions us-ord",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			shown, cluster, err := shownPlans(cmd, from, cost, regions, nodePool != "")
			switch {
			case err != nil:
				return err
			case nodePool != "":
				return writeNodePool(cmd.OutOrStdout(), out.name, shown, cluster, nodePool)
			case out.name == asJSON:
				return writeJSON(cmd.OutOrStdout(), plans.List(shown))
			}
			return plans.Write(printable.Lines(cmd.OutOrStdout()), shown)
		},
	}
	from.flags(cmd)
	cost.flags(cmd)
	out.flags(cmd, asText, asJSON)
	cmd.Flags().StringSliceVar(&regions, "regions", nil, "regions, or all; without it the region of the cluster's nodes")
	completeRegions(cmd, "regions", allRegions)
	cmd.Flags().StringVar(&nodePool, "nodepool", "", "only what this NodePool could buy, and what excludes the other plans")
	return cmd
}

func writeNodePool(w io.Writer, format string, shown plans.Shown, cluster *snapshot.Snapshot, name string) error {
	var known []string
	for _, np := range cluster.NodePools {
		if np.Name != name {
			known = append(known, np.Name)
			continue
		}
		requirements, kubelet := np.Spec.Template.Spec.Requirements, kubeletOf(cluster, np.Spec.Template.Spec.NodeClassRef.Name)
		if format == asJSON {
			return writeJSON(w, plans.ListNodePool(shown, requirements, kubelet))
		}
		return plans.WriteNodePool(w, shown, np.Name, requirements, kubelet)
	}
	return fmt.Errorf("--nodepool: there is no NodePool %q; %s", name, oneOf(name, known))
}

func newOpenCostPrices() *cobra.Command {
	from, cost, out := &source{}, &prices{}, &format{}
	var regions []string
	cmd := &cobra.Command{
		Use:     "opencost-prices",
		Short:   "Write a price list in OpenCost's CSV format, or the same prices as JSON",
		Example: "  karpenter-linode opencost-prices --regions us-ord > prices.csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			shown, _, err := shownPlans(cmd, from, cost, regions, false)
			if err != nil {
				return err
			}
			var names []string
			for _, region := range shown.Regions {
				names = append(names, region.ID)
			}
			if out.name == asJSON {
				prices, err := plans.OpenCostPrices(shown.Plans, names)
				if err != nil {
					return err
				}
				return writeJSON(cmd.OutOrStdout(), prices)
			}
			return plans.OpenCost(cmd.OutOrStdout(), shown.Plans, names)
		},
	}
	from.flags(cmd)
	cost.flags(cmd)
	out.flags(cmd, asCSV, asJSON)
	cmd.Flags().StringSliceVar(&regions, "regions", nil, "regions, or all; without it the region of the cluster's nodes")
	completeRegions(cmd, "regions", allRegions)
	return cmd
}

// shownPlans reads the plans for regions. It reads the cluster only for the cluster's region or NodePools.
func shownPlans(cmd *cobra.Command, from *source, cost *prices, regions []string, nodePools bool) (plans.Shown, *snapshot.Snapshot, error) {
	selected, err := cost.selection()
	if err != nil {
		return plans.Shown{}, nil, err
	}
	cluster := &snapshot.Snapshot{}
	switch {
	case len(regions) > 0 && nodePools && len(from.nodePools) > 0:
		cluster, err = readFiles(cmd.InOrStdin(), from.nodePools)
	case len(regions) == 0 || nodePools:
		cluster, err = from.read(cmd)
	}
	if err != nil {
		return plans.Shown{}, nil, err
	}
	if len(regions) == 0 {
		regions = []string{cluster.Region()}
	}
	if regions[0] == "" {
		return plans.Shown{}, nil, errors.New("no node has a region: use --regions")
	}
	list, _, err := cost.list(cmd.Context())
	if err != nil {
		return plans.Shown{}, nil, err
	}
	shown := plans.Shown{Selection: selected, Tier: cost.tierOf(cluster), MemoryOverhead: cost.memoryOverhead()}
	if shown.Plans, err = catalog.Plans(cmd.Context(), list); err != nil {
		return plans.Shown{}, nil, err
	}
	if slices.Equal(regions, []string{allRegions}) {
		regions, err = regionsWithKubernetes(cmd.Context(), list)
	} else if cmd.Flags().Changed("regions") {
		err = checkRegions(cmd.Context(), list, "--regions", regions)
	}
	if err != nil {
		return plans.Shown{}, nil, err
	}
	for _, region := range regions {
		availability, err := catalog.Availability(cmd.Context(), list, region)
		if err != nil {
			return plans.Shown{}, nil, err
		}
		shown.Regions = append(shown.Regions, plans.Region{ID: region, Availability: availability})
	}
	return shown, cluster, nil
}

// checkRegions returns an error for a region that does not exist. Otherwise each plan would get its default price there.
func checkRegions(ctx context.Context, list catalog.API, flag string, regions []string) error {
	known, err := regionsWithKubernetes(ctx, list)
	if err != nil {
		return err
	}
	for _, region := range regions {
		if slices.Contains(known, region) {
			continue
		}
		return fmt.Errorf("%s: %q is not a region with Kubernetes; %s", flag, region, oneOf(region, known))
	}
	return nil
}

// completeRegions completes a flag with the regions of the built-in list, which needs no network.
func completeRegions(cmd *cobra.Command, flag string, more ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, err := pricelist.BuiltIn()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		regions := slices.Concat(more, list.Regions)
		regions = slices.DeleteFunc(regions, func(region string) bool { return !strings.HasPrefix(region, begun) })
		return regions, cobra.ShellCompDirectiveNoFileComp
	})
}

// oneOf names the known texts that are similar to a text, or all known texts.
func oneOf(text string, known []string) string {
	if similar := requirement.Similar([]string{text}, known); len(similar) > 0 {
		return "similar: " + strings.Join(similar, ", ")
	}
	return "there are: " + strings.Join(known, ", ")
}

// regionsWithKubernetes lists the regions of a source that have Kubernetes.
func regionsWithKubernetes(ctx context.Context, list catalog.API) (regions []string, _ error) {
	switch list := list.(type) {
	case *pricelist.List:
		return list.Regions, nil
	case *linode.Client:
		for region, err := range list.ListRegions(ctx, linode.Filter{}) {
			if err != nil {
				return nil, fmt.Errorf("reading regions: %w", err)
			}
			if slices.Contains(region.Capabilities, "Kubernetes") {
				regions = append(regions, region.ID)
			}
		}
		return regions, nil
	}
	return nil, fmt.Errorf("%T has no list of regions", list)
}

func kubeletOf(cluster *snapshot.Snapshot, class string) *v1alpha1.KubeletConfiguration {
	for _, c := range cluster.NodeClasses {
		if c.Name == class {
			return c.Spec.Kubelet
		}
	}
	return nil
}
