package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/karpenter/pkg/apis"
	corecloudprovider "sigs.k8s.io/karpenter/pkg/cloudprovider"
	coremetrics "sigs.k8s.io/karpenter/pkg/cloudprovider/metrics"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/adoption"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/joining"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/learnedcapacity"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/pricelabel"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unclaimed"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unlaunched"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unplanned"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/hostmaintenance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// How old answers about the cluster and about what a LinodeNodeClass names may be.
const answerTTL = 4 * time.Minute

// operate runs the controllers until ctx ends.
func operate(ctx context.Context, o options.Options, p *platform) error {
	op, err := newOperator(ctx, o, p)
	if err != nil {
		return err
	}
	tracker := discovery.NewTracker(p.client, p.cluster, answerTTL)
	config := cloudprovider.Config{
		Cluster:        p.cluster,
		Holder:         p.holders.Holder,
		CreateDeadline: o.CreateDeadline,
		OnClaim:        p.metrics.Claim,
		OnNeverJoined:  p.metrics.NeverJoined,
		// Once LKE was seen to put the taint back, it does more harm than good.
		UnregisteredTaint: func() bool { return o.UnregisteredTaint && !p.taintReturned.Load() },
		RelaxMinValues:    o.Core.MinValuesPolicy == coreoptions.MinValuesPolicyBestEffort,
		Events:            op.EventRecorder,

		ControlPlaneVersion: func(ctx context.Context) string { return tracker.Cluster(ctx).Version },
	}
	if o.Core.FeatureGates.NodeOverlay {
		config.Overlays = op.InstanceTypeStore
	}
	if o.HostMaintenance {
		watcher := hostmaintenance.New(hostmaintenance.Config{
			API: p.client, Kube: op.GetClient(), Events: op.EventRecorder, Interval: o.CatalogInterval, OnPending: p.metrics.HostMaintenance,
		})
		config.HostMaintenance = watcher.Pending
		if err := op.Add(watcher); err != nil {
			return fmt.Errorf("adding the watcher of hosts: %w", err)
		}
	}
	p.holders.Use(op.GetClient())
	linodes := cloudprovider.New(op.GetClient(), p.pools, p.catalog, config)
	provider := coremetrics.Decorate(linodes)
	if o.AdoptAlpha {
		if err := op.Add(adoption.New(adoption.Config{
			API: p.client, Kube: op.GetClient(), ClusterID: p.cluster.ID, Wanted: linodes.Wanted, Events: op.EventRecorder,
		})); err != nil {
			return fmt.Errorf("adding the adoption of nodes: %w", err)
		}
	}
	memory := remember(ctx, o, p, op)
	register(ctx, o, p, op, parts{provider, linodes, memory, tracker})
	if err := op.AddReadyzCheck("linode", p.health.check); err != nil {
		return fmt.Errorf("adding a readiness check: %w", err)
	}
	runnables := []manager.Runnable{p.catalog, p.fence}
	if memory != nil {
		runnables = append(runnables, memory)
	}
	for _, runnable := range runnables {
		if err := op.Add(runnable); err != nil {
			return fmt.Errorf("adding %T: %w", runnable, err)
		}
	}
	logStart(ctx, p, op.GetAPIReader())
	if err := op.Manager.Start(ctx); err != nil {
		return runProblem(err)
	}
	return nil
}

// parts are what the controllers share.
type parts struct {
	provider corecloudprovider.CloudProvider // with core's metrics
	linode   *cloudprovider.CloudProvider    // the same without
	memory   *learnedcapacity.Memory         // nil = nothing is remembered
	tracker  *discovery.Tracker
}

// register adds core's controllers and the provider's own to the manager.
func register(ctx context.Context, o options.Options, p *platform, op *coreoperator.Operator, with parts) {
	overlaid := overlay.Decorate(with.provider, op.GetClient(), op.InstanceTypeStore)
	kube := karpentercore.Held(karpentercore.OnDemand(op.GetClient()), with.linode.Held)
	clusterState := state.NewCluster(op.Clock, kube, overlaid)
	op.WithControllers(ctx, controllers.NewControllers(ctx, op.Manager, op.Clock, kube, op.EventRecorder,
		overlaid, with.provider, clusterState, op.InstanceTypeStore)...)

	classes := nodeclass.Config{Reader: op.GetAPIReader(), Cluster: func(ctx context.Context) status.Cluster {
		cluster := with.tracker.Cluster(ctx)
		return status.Cluster{Mode: v1alpha1.ModeLKE, Tier: cluster.Tier, Region: cluster.Region, ControlPlaneVersion: cluster.Version}
	}}
	if !o.DisableDryRun {
		classes.Lookup = nodeclass.NewLookup(p.client, answerTTL)
	}
	if o.NodePriceLabel {
		op.WithControllers(ctx, pricelabel.NewController(op.GetClient(), p.catalog, o.CatalogInterval))
	}
	drainer := drain.New(op.GetClient(), op.GetAPIReader(), op.EventRecorder, drain.Config{Clock: op.Clock})
	op.WithControllers(ctx,
		nodeclass.NewController(op.GetClient(), op.EventRecorder, classes),
		garbagecollection.NewController(op.GetAPIReader(), op.GetClient(), p.pools, drainer, garbagecollection.Config{
			Interval: o.GarbageCollectionInterval, DrainTimeout: o.OrphanDrainTimeout, OnCollected: p.metrics.Collected,
		}),
		unclaimed.NewController(op.GetClient(), p.pools, drainer, op.EventRecorder, unclaimed.Config{
			Cluster: p.cluster.ID, OnUnidentified: p.metrics.Unidentified,
			OnReturned: func() { p.taintReturned.Store(true) },
		}),
		tagging.NewController(op.GetClient(), p.pools),
		learnedcapacity.NewController(op.GetClient(), p.catalog, with.memory, with.linode.TooSmall),
		nodepoolstatus.NewController(op.GetClient(), with.linode, op.EventRecorder),
		unlaunched.NewController(op.GetClient(), with.linode),
		joining.NewController(op.EventRecorder, op.Clock),
		unplanned.NewController(op.GetClient(), op.EventRecorder),
	)
}

// remember takes up what processes before this one have learned of instance types; nil if that is not wanted. It is read
// before anything is scheduled; when that fails, estimates serve until it works.
func remember(ctx context.Context, o options.Options, p *platform, op *coreoperator.Operator) *learnedcapacity.Memory {
	if o.LearnedCapacity.Name == "" {
		return nil
	}
	memory := learnedcapacity.NewMemory(op.GetAPIReader(), op.GetClient(), p.catalog, learnedcapacity.Config{ConfigMap: o.LearnedCapacity})
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := memory.Load(ctx); err != nil {
		log.FromContext(ctx).Error(err, "could not read what was learned of instance types; trying again", "ConfigMap", o.LearnedCapacity)
	}
	return memory
}

// newOperator makes core's manager, and names the setting behind what goes wrong.
func newOperator(ctx context.Context, o options.Options, p *platform) (*coreoperator.Operator, error) {
	config, err := controllerruntime.GetConfig()
	if err != nil {
		return nil, &setting.Error{Name: "KUBECONFIG", Found: "no Kubernetes cluster to talk to", Err: err,
			Fix: "run inside a cluster, or set KUBECONFIG to a kubeconfig file"}
	}
	op, err := karpentercore.NewOperator(ctx, karpentercore.Config{
		Options: o.Core, Kubernetes: config, MetricsAddress: o.MetricsAddress, ProbeAddress: o.ProbeAddress, Lock: p.fence.Lock,
	})
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &setting.Error{Name: "HEALTH_PROBE_PORT", Found: "the port is in use", Err: err, Fix: "set HEALTH_PROBE_PORT to a free port"}
	case errors.Is(err, karpentercore.ErrNoNamespace):
		return nil, &setting.Error{Name: "LEADER_ELECTION_NAMESPACE", Found: "not set", Err: err, Fix: "set it to the namespace of the Lease, or set DISABLE_LEADER_ELECTION"}
	case err != nil:
		return nil, &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: checkCluster}
	}
	if err := checkDefinitions(op.GetRESTMapper()); err != nil {
		return nil, err
	}
	if err := checkGatedDefinitions(o.Core.FeatureGates, op.GetRESTMapper()); err != nil {
		return nil, err
	}
	if err := karpentercore.Index(ctx, op.GetFieldIndexer()); err != nil {
		return nil, &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: checkCluster}
	}
	return op, nil
}

const checkCluster = "check that the API server answers, and the kubeconfig or ServiceAccount"

// checkDefinitions looks for the kinds whose absence would let every controller wait for minutes and then fail.
func checkDefinitions(mapper meta.RESTMapper) error {
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersionKind,
		{Group: apis.Group, Version: "v1", Kind: "NodePool"},
		{Group: apis.Group, Version: "v1", Kind: "NodeClaim"},
	} {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			return &setting.Error{Name: "KUBECONFIG", Found: fmt.Sprintf("the Kubernetes cluster does not know %s", kind.Kind), Err: err,
				Fix: "install the chart karpenter-crd first"}
		case err != nil:
			return &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: checkCluster}
		}
	}
	return nil
}

// runProblem names the setting behind an error that ended the manager.
func runProblem(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return &setting.Error{Name: "METRICS_PORT", Found: "the port is in use", Err: err, Fix: "set METRICS_PORT to a free port"}
	}
	return fmt.Errorf("the controllers ended: %w", err)
}

func logCatalogError(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return // the process ends
	}
	log.Log.Error(err, "could not refresh instance types; going on with what is known")
}
