package main

import (
	"context"
	"fmt"

	operatorcontroller "github.com/awslabs/operatorpkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/firewalls"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/servingcertificates"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancemode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// instanceNodes are plain Linodes that join a self-managed cluster. lookup may be nil.
func instanceNodes(ctx context.Context, p *platform, op *coreoperator.Operator, lookup *nodeclass.Lookup, _ *drain.Drainer,
	config cloudprovider.Config) (nodes, error) {
	o := p.options
	manager, err := newManager(ctx, p, op.GetAPIReader())
	if err != nil {
		return nodes{}, err
	}
	info, err := clusterinfo.NewReader(op.GetAPIReader(),
		clusterinfo.Config{Endpoint: o.ClusterEndpoint, CABundle: o.ClusterCABundle, Kube: op.GetConfig()})
	if err != nil {
		return nodes{}, &setting.Error{Name: "CLUSTER_ENDPOINT", Found: "or CLUSTER_CA_BUNDLE cannot be used", Err: err,
			Fix: "correct it, or leave it out: it is discovered"}
	}
	tokens := bootstraptoken.NewIssuer(op.GetAPIReader(), op.GetClient(), op.Clock)
	joining := instancemode.Config{
		ClusterName: o.ClusterName, Region: p.found.Region, Engine: manager, Tokens: tokens, Cluster: info, Secrets: op.GetAPIReader(),
		Generation:          nodeclass.Generation(p.client, answerTTL),
		ServingCertificates: o.ServingCertificates,
	}
	readings := lookup
	if lookup != nil {
		joining.Groups, joining.Attachments = lookup, lookup
	} else {
		readings = nodeclass.NewLookup(p.client, answerTTL)
	}
	attaching := firewalls.NewController(op.GetClient(), op.EventRecorder, firewalls.Config{
		Readings: readings, Linodes: manager, API: p.client, Interfaces: instancemode.ProtectedInterfaces,
		SettleTime: o.TagVerificationTimeout, Clock: op.Clock,
	})
	joining.FirewallRefused = attaching.Refused
	backend := instancemode.New(joining)
	config.ControlPlaneVersion = func(ctx context.Context) string {
		found, _ := info.Cluster(ctx) // what was known before, if it cannot be read now
		return found.Version
	}
	n := nodes{
		provider: cloudprovider.Over(op.GetClient(), backend, p.catalog, config), engine: backend, begin: manager.Begin,
		cluster: func(ctx context.Context) status.Cluster {
			return status.Cluster{
				Mode: v1alpha1.ModeInstance, Region: p.found.Region, ControlPlaneVersion: config.ControlPlaneVersion(ctx),
				Bootstrap: backend.Check, LinodeInterfaces: backend.LinodeInterfaces,
			}
		},
		controllers: []operatorcontroller.Controller{bootstraptokens.NewController(tokens), attaching},
	}
	if o.ServingCertificates {
		n.controllers = append(n.controllers, approver(p, op, manager))
	}
	return n, nil
}

func newManager(ctx context.Context, p *platform, kube client.Reader) (*instances.Manager, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	uid, err := clusterUID(ctx, kube)
	if err != nil {
		return nil, err
	}
	backend, err := linodes.New(p.client)
	if err != nil {
		return nil, fmt.Errorf("setting up Linodes: %w", err)
	}
	manager, err := instances.New(backend, instances.Config{
		Cluster: p.options.ClusterName, ClusterUID: uid, SettleTime: p.options.TagVerificationTimeout, OrphanTTL: p.options.OrphanTTL,
		MaxInstances: p.options.MaxNodes,
		Holder:       p.holder,
		Observer:     instances.Observer{Action: func(end instances.ActionEnd) { p.metrics.Action(instancemode.Action(end)) }},
	})
	if err != nil {
		return nil, &setting.Error{Name: "CLUSTER_NAME", Found: "cannot be used", Err: err, Fix: "use letters, digits, '-' and '.'"}
	}
	return manager, nil
}

func (p *platform) holder(instanceID int) (instances.Claimant, bool) {
	claimant, ok := p.holders.Holder(instanceID)
	return instances.Claimant(claimant), ok
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

// approver approves serving certificates by what the Linode API has of a Linode now.
func approver(p *platform, op *coreoperator.Operator, manager *instances.Manager) operatorcontroller.Controller {
	return servingcertificates.NewController(op.GetClient(), op.EventRecorder, servingcertificates.Config{
		NodeName: func(nodeClaim string) string { return instances.Label(p.options.ClusterName, nodeClaim) },
		Linode: func(ctx context.Context, instanceID int) (servingcertificates.Linode, error) {
			found, err := manager.Get(ctx, instanceID)
			return servingcertificates.Linode{Label: found.Label, Addresses: append(found.IPv4, found.IPv6)}, err
		},
		Addresses: func(ctx context.Context, instanceID int) (all []string, _ error) {
			found, err := p.client.GetInstanceIPs(ctx, instanceID)
			if err != nil {
				return nil, err
			}
			for _, a := range ptr.Deref(found.IPv4.VPC, nil) {
				if a.Address != nil { // none: a range
					all = append(all, *a.Address)
				}
			}
			return all, nil
		},
	})
}
