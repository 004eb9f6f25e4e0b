package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/plans"
)

// pricesVerb, as the first argument, writes a price list instead of running the controllers. Settings are the
// controller's, so that it works in its pod.
const pricesVerb = "opencost-prices"

// writePrices writes OpenCost's price list for CLUSTER_REGION, or for all regions with Kubernetes.
func writePrices(ctx context.Context, args []string, w io.Writer) error {
	o, err := options.Parse(args, os.LookupEnv)
	if err != nil {
		return err
	}
	client, err := priceClient(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	all, err := instancetype.Plans(ctx, client)
	if err != nil {
		return err
	}
	regions, err := priceRegions(ctx, client, o.ClusterRegion)
	if err != nil {
		return err
	}
	return plans.OpenCost(w, all, regions)
}

func priceClient(o options.Options) (*linode.Client, error) {
	transport, err := discovery.Transport(o.CAFile)
	if err != nil {
		return nil, err
	}
	return newClient(o, transport, nil)
}

func priceRegions(ctx context.Context, client *linode.Client, wanted string) ([]string, error) {
	if wanted != "" {
		return []string{wanted}, nil
	}
	var regions []string
	for region, err := range client.ListRegions(ctx, linode.Filter{}) {
		if err != nil {
			return nil, fmt.Errorf("reading regions: %w", err)
		}
		for _, capability := range region.Capabilities {
			if capability == "Kubernetes" {
				regions = append(regions, region.ID)
			}
		}
	}
	return regions, nil
}
