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

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/joining"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/learnedcapacity"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/pricelabel"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unlaunched"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unplanned"
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
	var lookup *nodeclass.Lookup
	if !o.DisableDryRun {
		lookup = nodeclass.NewLookup(p.client, answerTTL)
	}
	if err := p.nodes.join(ctx, o, op, lookup); err != nil {
		return err
	}
	config := cloudprovider.Config{
		Holder:         p.holders.Holder,
		CreateDeadline: o.CreateDeadline,
		OnClaim:        p.metrics.Claim,
		OnNeverJoined:  p.metrics.NeverJoined,
		RelaxMinValues: o.Core.MinValuesPolicy == coreoptions.MinValuesPolicyBestEffort,
		Events:         op.EventRecorder,
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
	provider := p.nodes.provider(o, op.GetClient(), config)
	memory := remember(ctx, o, p, op)
	if err := register(ctx, o, p, op, parts{coremetrics.Decorate(provider), provider, memory, lookup}); err != nil {
		return err
	}
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
	lookup   *nodeclass.Lookup               // nil = nothing that a class names is looked up
}

// register adds core's controllers and the provider's own to the manager.
func register(ctx context.Context, o options.Options, p *platform, op *coreoperator.Operator, with parts) error {
	overlaid := overlay.Decorate(with.provider, op.GetClient(), op.InstanceTypeStore)
	var clusterState *state.Cluster
	kube := karpentercore.Held(karpentercore.OnDemand(op.GetClient()), with.linode.Held, func() karpentercore.Reservations { return clusterState.NodePoolState })
	clusterState = state.NewCluster(op.Clock, kube, overlaid)
	op.WithControllers(ctx, controllers.NewControllers(ctx, op.Manager, op.Clock, kube, op.EventRecorder,
		overlaid, with.provider, clusterState, op.InstanceTypeStore)...)

	classes := nodeclass.Config{Reader: op.GetAPIReader(), Cluster: p.nodes.cluster}
	if with.lookup != nil {
		classes.Lookup, classes.Recheck = with.lookup, with.lookup.Young()
	}
	if o.NodePriceLabel {
		op.WithControllers(ctx, pricelabel.NewController(op.GetClient(), p.catalog, o.CatalogInterval))
	}
	drainer := drain.New(op.GetClient(), op.GetAPIReader(), op.EventRecorder, drain.Config{Clock: op.Clock})
	ofMode, err := p.nodes.controllers(op, drainer, with.linode, o)
	if err != nil {
		return err
	}
	op.WithControllers(ctx, ofMode...)
	op.WithControllers(ctx,
		nodeclass.NewController(op.GetClient(), op.EventRecorder, classes),
		garbagecollection.NewController(op.GetAPIReader(), op.GetClient(), p.nodes.engine(), drainer, garbagecollection.Config{
			Interval: o.GarbageCollectionInterval, DrainTimeout: o.OrphanDrainTimeout, OnCollected: p.metrics.Collected,
		}),
		tagging.NewController(op.GetClient(), p.nodes.engine()),
		learnedcapacity.NewController(op.GetClient(), p.catalog, with.memory, with.linode.TooSmall),
		nodepoolstatus.NewController(op.GetClient(), with.linode, op.EventRecorder),
		unlaunched.NewController(op.GetClient(), with.linode),
		joining.NewController(op.EventRecorder, op.Clock),
		unplanned.NewController(op.GetClient(), with.linode, op.EventRecorder),
	)
	return nil
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
	if err := checkDefinitions(op.GetRESTMapper(), o.Core.FeatureGates); err != nil {
		return nil, err
	}
	if err := karpentercore.Index(ctx, op.GetFieldIndexer()); err != nil {
		return nil, &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: checkCluster}
	}
	return op, nil
}

const checkCluster = "check that the API server answers, and the kubeconfig or ServiceAccount"

// checkDefinitions looks for the kinds whose absence would let every controller, or core's caches, wait for minutes and then fail.
func checkDefinitions(mapper meta.RESTMapper, gates coreoptions.FeatureGates) error {
	for _, needed := range []struct {
		kind schema.GroupVersionKind
		gate string // that needs it
		off  bool
	}{
		{kind: v1alpha1.GroupVersionKind},
		{kind: schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodePool"}},
		{kind: schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodeClaim"}},
		{kind: schema.GroupVersionKind{Group: apis.Group, Version: "v1alpha1", Kind: "NodeOverlay"}, gate: "NodeOverlay", off: !gates.NodeOverlay},
		{kind: schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}, gate: "CapacityBuffer", off: !gates.CapacityBuffer},
	} {
		if needed.off {
			continue
		}
		_, err := mapper.RESTMapping(needed.kind.GroupKind(), needed.kind.Version)
		switch {
		case err == nil:
		case !meta.IsNoMatchError(err):
			return &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: checkCluster}
		case needed.gate != "":
			return &setting.Error{Name: "FEATURE_GATES", Found: fmt.Sprintf("%s is on, and the Kubernetes cluster has no %s %s", needed.gate, needed.kind.GroupVersion(), needed.kind.Kind),
				Err: err, Fix: "install this version of the chart karpenter-crd first, or turn the gate off"}
		default:
			return &setting.Error{Name: "KUBECONFIG", Found: fmt.Sprintf("the Kubernetes cluster does not know %s", needed.kind.Kind), Err: err,
				Fix: "install the chart karpenter-crd first"}
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
