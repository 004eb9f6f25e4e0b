package clusterapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/kube"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

const newToken = "make a personal access token with the scope linodes:read_only and set LINODE_TOKEN to it"

// Find implements mode.Find. It reads the region, and compares the token's scopes: the operator only reads, because the infrastructure
// provider makes the Machines, with its own token.
func Find(ctx context.Context, client *linode.Client, wanted discovery.Wanted) (mode.Cluster, error) {
	_, err := client.GetRegion(ctx, wanted.Region)
	switch {
	case linode.KindOf(err) == linode.KindNotFound:
		err = &options.Error{Name: "CLUSTER_REGION", Found: fmt.Sprintf("Linode has no region %q", wanted.Region),
			Fix: "set it to the region in the LinodeMachineTemplates, such as us-ord"}
	case err != nil:
		err = wanted.Explain(err, "linodes:read_only", "reading the region", newToken)
	default:
		err = wanted.Check(ctx, client, wanted.Name, newToken, "linodes:read_only")
	}
	return mode.Cluster{
		Region: wanted.Region,
		Log: func(logger logr.Logger) {
			logger.Info("clusterapi mode: nodes are Machines of MachineDeployments", "cluster", wanted.Name)
			logger.Info("the region of new Linodes", "region", wanted.Region)
		},
		New: func(ctx context.Context, deps mode.Deps) (mode.Nodes, error) {
			return New(ctx, wanted.Name, wanted.Region, deps)
		},
	}, err
}

// connect returns a backend over the management cluster, and checks that it has the objects and the rights.
func connect(ctx context.Context, cluster string, deps mode.Deps) (*kube.Backend, error) {
	o := deps.Options
	config := rest.CopyConfig(deps.Operator.GetConfig())
	if o.ClusterAPIKubeconfig != "" {
		var err error
		if config, err = management(o.ClusterAPIKubeconfig); err != nil {
			return nil, err
		}
	}
	config.QPS, config.Burst = 50, 100
	if deps.Guard != nil {
		config.Wrap(deps.Guard)
	}
	backend, err := dial(config, o.ClusterAPINamespace, cluster)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, mode.StartTimeout)
	defer cancel()
	if _, err := backend.Read(ctx); err != nil {
		return nil, &options.Error{Name: "CLUSTERAPI_NAMESPACE", Found: "the objects of Cluster API cannot be read in namespace " +
			o.ClusterAPINamespace, Err: err,
			Fix: "check the namespace, that Cluster API v1.11 or later is installed, and the Role in docs/cluster-api.md"}
	}
	return backend, alone(ctx, backend, o.ClusterAPINamespace, cluster)
}

func dial(config *rest.Config, namespace, cluster string) (*kube.Backend, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client of the management cluster: %w", err)
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client of the management cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, transport)
	if err != nil {
		return nil, fmt.Errorf("setting up discovery of the management cluster: %w", err)
	}
	return kube.New(client, mapper, namespace, cluster), nil
}

// alone returns an error if other Clusters share the namespace. Kubernetes grants rights on Machines by namespace, so this operator, or
// an attacker who controls it, could remove the nodes of these Clusters.
func alone(ctx context.Context, backend *kube.Backend, namespace, cluster string) error {
	others, err := backend.OtherClusters(ctx)
	switch {
	case err != nil:
		return &options.Error{Name: "CLUSTERAPI_NAMESPACE", Found: "the Machines of namespace " + namespace + " cannot be read", Err: err,
			Fix: "check the Role in docs/cluster-api.md"}
	case len(others) > 0:
		if more := len(others) - 3; more > 0 {
			others = append(others[:3:3], fmt.Sprintf("%d more", more))
		}
		return &options.Error{Name: "CLUSTERAPI_NAMESPACE",
			Found: fmt.Sprintf("namespace %s has Machines of other Clusters (%s), not only of %s, and this operator's rights cover them all",
				namespace, strings.Join(others, ", "), cluster),
			Fix: "give each Cluster a namespace of its own in the management cluster, as docs/cluster-api.md shows"}
	}
	return nil
}
