package instance

import (
	"context"
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/cloudcontroller"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/firewalls"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/imageversion"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Find implements mode.Find.
func Find(ctx context.Context, client *linode.Client, wanted discovery.Wanted) (mode.Cluster, error) {
	found, err := FindCluster(ctx, client, wanted)
	return mode.Cluster{Region: found.Region, Log: found.log, New: func(ctx context.Context, deps mode.Deps) (mode.Nodes, error) {
		return New(ctx, found, deps)
	}}, err
}

// New returns Linodes that join a cluster.
func New(ctx context.Context, cluster Cluster, deps mode.Deps) (mode.Nodes, error) {
	o, op := deps.Options, deps.Operator
	uid, err := clusterUID(ctx, op.GetAPIReader())
	if err != nil {
		return mode.Nodes{}, err
	}
	manager, err := newManager(cluster, uid, deps)
	if err != nil {
		return mode.Nodes{}, err
	}
	info, err := clusterinfo.NewReader(op.GetAPIReader(),
		clusterinfo.Config{Endpoint: o.ClusterEndpoint, CABundle: o.ClusterCABundle, Kube: op.GetConfig()})
	if err != nil {
		return mode.Nodes{}, &options.Error{Name: "CLUSTER_ENDPOINT", Found: "this setting or CLUSTER_CA_BUNDLE cannot be used", Err: err,
			Fix: "correct it, or leave it out: the operator then discovers it"}
	}
	config := Config{
		Cluster: cluster, Engine: manager, Joined: info, Allowed: o.Allowed(),
		Secrets:             Secrets{Reader: op.GetAPIReader(), Listed: o.Secrets(), Own: deps.Token},
		Generation:          nodeclass.Generation(deps.Linode, mode.AnswerTTL),
		ServingCertificates: o.ServingCertificates, Tags: o.Tags(),
		Neighbours:    Neighbours{CloudController: cloudcontroller.NewReader(op.GetClient())},
		ImageVersions: imageversion.NewReader(op.GetClient()),
	}
	readings := deps.Lookup
	if readings != nil {
		config.Groups, config.Attachments, config.Neighbours.VPCs = readings, readings, readings
	} else {
		readings = nodeclass.NewLookup(deps.Linode, mode.AnswerTTL)
	}
	var backend *Backend
	keeper := firewalls.NewKeeper(firewalls.Config{
		Readings: readings, Recheck: readings.Young(), API: deps.Linode, Recorder: op.EventRecorder, Interfaces: ProtectedInterfaces,
		SettleTime: o.SettleTime, Claim: func(instanceID int) (string, bool) {
			node, known := deps.Inventory.Known(instanceID)
			return node.Claim, known
		},
	})
	config.FirewallRefused = keeper.Refused
	var tokens *bootstraptoken.Issuer
	if o.BootstrapTokens {
		tokens = bootstraptoken.NewIssuer(bootstraptoken.Config{Kube: op.GetClient(), Token: deps.Token, Cluster: uid, Clock: op.Clock})
		config.Tokens = tokens
	}
	backend = NewBackend(config)
	nodes := mode.Nodes{
		Backend: backend, Engine: backend, Begin: func(released bool) {
			if released {
				manager.Begin(claims.Ended)
				return
			}
			manager.Begin(claims.MayStillWrite)
		},
		Cluster: func(ctx context.Context) status.Cluster {
			return status.Cluster{
				Mode: v1alpha1.ModeInstance, Region: cluster.Region, ControlPlaneVersion: backend.controlPlaneVersion(ctx),
				Bootstrap: backend.Check, LinodeInterfaces: backend.LinodeInterfaces,
			}
		},
		Firewalls: keeper, Naming: karpentercore.ByName(cluster.nodeName),
	}
	if tokens != nil {
		nodes.Controllers = append(nodes.Controllers, bootstraptoken.NewController(tokens),
			certificates.NewClient(op.GetClient(), op.EventRecorder, cluster.nodeName))
	}
	if o.ServingCertificates {
		nodes.Controllers = append(nodes.Controllers, approver(cluster, deps, backend))
	}
	return nodes, nil
}

func newManager(cluster Cluster, uid string, deps mode.Deps) (*instances.Manager, error) {
	platform, err := linodeapi.New(deps.Linode)
	if err != nil {
		return nil, fmt.Errorf("setting up Linodes: %w", err)
	}
	manager, err := instances.New(platform, instances.Config{
		Cluster: cluster.Name, ClusterUID: uid, SettleTime: deps.Options.SettleTime, ListLag: deps.Options.ListLag,
		LateEffect: deps.Options.LateEffect, OrphanTTL: deps.Options.OrphanTTL,
		Ceilings: claims.Ceilings{MaxNodes: deps.Options.MaxNodes, MaxHourlyPrice: deps.Options.MaxHourlyPrice, HourlyPrice: deps.HourlyPrice},
		Records:  deps.Holder, Observer: claims.Observer{Action: deps.Metrics.Action},
	})
	if err != nil {
		return nil, &options.Error{Name: "CLUSTER_NAME", Found: "cannot be used", Err: err, Fix: "use letters, digits, '-' and '.'"}
	}
	return manager, nil
}

// clusterUID returns the UID of the namespace kube-system, which distinguishes clusters of the same name on one account. It lists
// namespaces, because the operator has no right to read a single one.
func clusterUID(ctx context.Context, kube client.Reader) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, mode.StartTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	err := kube.List(ctx, list, client.MatchingFields{"metadata.name": metav1.NamespaceSystem})
	if err == nil && len(list.Items) != 1 {
		err = fmt.Errorf("there is no namespace %s", metav1.NamespaceSystem)
	}
	if err != nil {
		return "", &options.Error{Name: "KUBECONFIG", Found: "cannot read the namespace kube-system", Err: err, Fix: options.FixKubernetes}
	}
	return string(list.Items[0].UID), nil
}

// approver returns the controller that approves serving certificates. It compares with the known addresses of a Linode first, and reads
// the Linode from the API if these are not enough.
func approver(cluster Cluster, deps mode.Deps, backend *Backend) controller.Controller {
	named := func(i instances.Instance) certificates.Linode {
		return certificates.Linode{Label: i.Name, Addresses: append(slices.Clone(i.IPv4), i.IPv6)}
	}
	return certificates.NewServing(deps.Operator.GetClient(), deps.Operator.EventRecorder, certificates.Serving{
		NodeName: cluster.nodeName,
		Known: func(instanceID int) (certificates.Linode, bool) {
			node, _ := deps.Inventory.Known(instanceID)
			found, known := node.Own.(instances.Instance)
			return named(found), known
		},
		Linode: func(ctx context.Context, instanceID int) (certificates.Linode, error) {
			found, err := backend.cfg.Engine.Get(ctx, instanceID)
			return named(found), err
		},
		Addresses: func(ctx context.Context, instanceID int) (all []string, _ error) {
			found, err := deps.Linode.GetInstanceIPs(ctx, instanceID)
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
