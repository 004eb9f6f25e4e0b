package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/clusterapi"
)

// machines has the flags that tell where the MachineDeployments of clusterapi mode are.
type machines struct {
	namespace string
	access           // of the management cluster
	cluster   access // the cluster itself; it is the management cluster if --clusterapi-kubeconfig is not given
}

func (m *machines) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.namespace, "clusterapi-namespace", os.Getenv("CLUSTERAPI_NAMESPACE"), "with --mode clusterapi: the namespace "+
		"of the MachineDeployments, as the operator's setting")
	cmd.Flags().StringVar(&m.kubeconfig, "clusterapi-kubeconfig", "", "with --mode clusterapi: kubeconfig of the management cluster; "+
		"without it the cluster manages itself")
}

// offered returns the catalogue of the MachineDeployments.
func (m *machines) offered(ctx context.Context, region string, market *catalog.Catalog) (cloudprovider.Catalog, error) {
	if m.namespace == "" {
		return nil, errors.New("--clusterapi-namespace: it is needed with --mode clusterapi: set it as the operator's CLUSTERAPI_NAMESPACE")
	}
	from := m.access
	if from.kubeconfig == "" {
		from = m.cluster
	}
	config, err := from.config()
	if err != nil {
		return nil, err
	}
	return clusterapi.Offers(ctx, config, m.namespace, region, market, market.HourlyUSD)
}
