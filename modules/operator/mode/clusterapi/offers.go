package clusterapi

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	ours "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// Offers returns the catalogue of the MachineDeployments of a namespace's Cluster, for programs that predict which nodes the operator
// makes. config belongs to the management cluster, which Offers reads once.
func Offers(ctx context.Context, config *rest.Config, namespace, region string, listed ours.Catalog,
	hourly func(instanceType string) (usd float64, known bool),
) (ours.Catalog, error) {
	backend, err := dial(config, namespace, "")
	if err != nil {
		return nil, err
	}
	clusters, err := backend.OtherClusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the MachineDeployments of namespace %s: %w", namespace, err)
	}
	if len(clusters) != 1 {
		return nil, fmt.Errorf("namespace %s has MachineDeployments of %d Clusters (%s), but the operator needs a namespace with exactly one",
			namespace, len(clusters), strings.Join(clusters, ", "))
	}
	if backend, err = dial(config, namespace, clusters[0]); err != nil {
		return nil, err
	}
	seen := newView(backend, region, hourly)
	if err := seen.refresh(ctx); err != nil {
		return nil, fmt.Errorf("reading the MachineDeployments of namespace %s: %w", namespace, err)
	}
	return &market{Catalog: listed, view: seen, region: region}, nil
}
