package main

import (
	"context"
	"fmt"

	operatorcontroller "github.com/awslabs/operatorpkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodes"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/clusterinfo"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/bootstraptokens"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/servingcertificates"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancemode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// instanceNodes are plain Linodes that join a self-managed cluster.
type instanceNodes struct {
	platform *platform
	found    discovery.Cluster
	info     *clusterinfo.Reader
	tokens   *bootstraptoken.Issuer
	manager  *instances.Manager
	backend  *instancemode.Backend
}

func (n *instanceNodes) find(ctx context.Context, o options.Options) (string, error) {
	var err error
	n.found, err = discovery.FindRegion(ctx, n.platform.client, discovery.Wanted{
		Name: o.ClusterName, Region: o.ClusterRegion, URL: o.APIURL, Scopes: n.platform.scopes.Last, Needs: optionalScopes(o),
	})
	return n.found.Region, err
}

// open has nothing to do: what makes Linodes must tell clusters of one name apart, which only Kubernetes can.
func (n *instanceNodes) open(options.Options) error { return nil }

func (n *instanceNodes) join(ctx context.Context, o options.Options, op *coreoperator.Operator, lookup *nodeclass.Lookup) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	uid, err := clusterUID(ctx, op.GetAPIReader())
	if err != nil {
		return err
	}
	if n.info, err = clusterinfo.NewReader(op.GetAPIReader(), clusterinfo.Config{Endpoint: o.ClusterEndpoint, CABundle: o.ClusterCABundle, Kube: op.GetConfig()}); err != nil {
		return &setting.Error{Name: "CLUSTER_ENDPOINT", Found: "or CLUSTER_CA_BUNDLE cannot be used", Err: err, Fix: "correct it, or leave it out: it is discovered"}
	}
	backend, err := linodes.New(n.platform.client)
	if err != nil {
		return fmt.Errorf("setting up Linodes: %w", err)
	}
	if n.manager, err = instances.New(backend, instances.Config{
		Cluster: o.ClusterName, ClusterUID: uid, SettleTime: o.TagVerificationTimeout, OrphanTTL: o.OrphanTTL, MaxInstances: o.MaxNodes,
		Holder: n.holder, Observer: instances.Observer{Action: func(end instances.ActionEnd) { n.platform.metrics.Action(instancemode.Action(end)) }},
	}); err != nil {
		return &setting.Error{Name: "CLUSTER_NAME", Found: "cannot be used", Err: err, Fix: "use letters, digits, '-' and '.'"}
	}
	n.tokens = bootstraptoken.NewIssuer(op.GetAPIReader(), op.GetClient(), op.Clock)
	config := instancemode.Config{
		ClusterName: o.ClusterName, Region: n.found.Region, Engine: n.manager, Tokens: n.tokens, Cluster: n.info, Secrets: op.GetAPIReader(),
		Generation:          nodeclass.NewSettings(n.platform.client, answerTTL).Generation,
		ServingCertificates: o.ServingCertificates,
	}
	if lookup != nil {
		config.Groups, config.Attachments = lookup, lookup
	}
	n.backend = instancemode.New(config)
	return nil
}

// clusterUID tells clusters apart that have one name and share an account: the UID of the namespace kube-system. It is listed, because
// the operator has no right to read single objects.
func clusterUID(ctx context.Context, kube client.Reader) (string, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	err := kube.List(ctx, list, client.MatchingFields{"metadata.name": metav1.NamespaceSystem})
	if err == nil && len(list.Items) != 1 {
		err = fmt.Errorf("there is no namespace %s", metav1.NamespaceSystem)
	}
	if err != nil {
		return "", &setting.Error{Name: "KUBECONFIG", Found: "cannot read the namespace kube-system", Err: err, Fix: checkCluster}
	}
	return string(list.Items[0].UID), nil
}

func (n *instanceNodes) holder(instanceID int) (instances.Claimant, bool) {
	claimant, ok := n.platform.holders.Holder(instanceID)
	return instances.Claimant(claimant), ok
}

func (n *instanceNodes) begin() { n.manager.Begin() }

func (n *instanceNodes) provider(_ options.Options, kube client.Reader, config cloudprovider.Config) *cloudprovider.CloudProvider {
	config.Cluster = n.found
	config.ControlPlaneVersion = n.version
	return cloudprovider.Over(kube, n.backend, n.platform.catalog, config)
}

func (n *instanceNodes) version(ctx context.Context) string {
	found, _ := n.info.Cluster(ctx) // what was known before, if it cannot be read now
	return found.Version
}

func (n *instanceNodes) engine() engine { return n.backend }

func (n *instanceNodes) cluster(ctx context.Context) status.Cluster {
	return status.Cluster{
		Mode: v1alpha1.ModeInstance, Region: n.found.Region, ControlPlaneVersion: n.version(ctx),
		Bootstrap: n.backend.Check, LinodeInterfaces: n.backend.LinodeInterfaces,
	}
}

func (n *instanceNodes) controllers(op *coreoperator.Operator, _ *drain.Drainer, _ *cloudprovider.CloudProvider, o options.Options) ([]operatorcontroller.Controller, error) {
	all := []operatorcontroller.Controller{bootstraptokens.NewController(n.tokens, op.Clock)}
	if o.ServingCertificates {
		all = append(all, servingcertificates.NewController(op.GetClient(), op.EventRecorder, servingcertificates.Config{
			NodeName: func(nodeClaim string) string { return instances.Label(o.ClusterName, nodeClaim) },
			Linode:   n.linode, Addresses: n.addresses, Clock: op.Clock,
		}))
	}
	return all, nil
}

// linode is what a certificate may name, read now.
func (n *instanceNodes) linode(ctx context.Context, instanceID int) (servingcertificates.Linode, error) {
	found, err := n.manager.Get(ctx, instanceID)
	return servingcertificates.Linode{Label: found.Label, Addresses: append(found.IPv4, found.IPv6)}, err
}

func (n *instanceNodes) addresses(ctx context.Context, instanceID int) ([]string, error) {
	found, err := n.platform.client.GetInstanceIPs(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	var all []string
	if found.IPv4.VPC == nil {
		return nil, nil
	}
	for _, a := range *found.IPv4.VPC {
		if a.Address != nil { // none: a range
			all = append(all, *a.Address)
		}
	}
	return all, nil
}

func (n *instanceNodes) facts() []fact {
	return []fact{
		{"instance mode: nodes are Linodes that join this cluster", []any{"cluster", n.found.Name}},
		{"the region of new Linodes", []any{"region", n.found.Region}},
	}
}
