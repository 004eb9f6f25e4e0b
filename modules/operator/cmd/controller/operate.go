package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/karpenter/pkg/apis"
	coremetrics "sigs.k8s.io/karpenter/pkg/cloudprovider/metrics"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider/hostmaintenance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider/reboot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/joining"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/launchfindings"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/learnedcapacity"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/offhours"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/podevents"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/pricelabel"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/rollout"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches/stored"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/surge"
)

// operate runs the controllers until ctx ends.
func operate(ctx context.Context, p *platform) error {
	op, err := newOperator(ctx, p)
	if err != nil {
		return err
	}
	p.holders.Use(op.GetClient())
	config := cloudprovider.Config{
		Region:         p.cluster.Region,
		Holder:         p.holders.Holder,
		CreateDeadline: p.options.CreateDeadline,
		OnClaim:        p.metrics.Claim,
		OnNeverJoined:  p.metrics.NeverJoined,
		RelaxMinValues: p.options.Core.MinValuesPolicy == coreoptions.MinValuesPolicyBestEffort,
		TokenRefused:   p.health.refused.Load,
		Events:         op.EventRecorder,
		Reboot:         reboot.New(p.client).Reboot,
		Toleration:     p.options.NodeRepairToleration,
		Inventory:      cloudprovider.NewInventory(),
	}
	if p.options.LearnedCapacity.Name != "" {
		if err := add(op, stored.New(op.GetAPIReader(), op.GetClient(), p.options.LearnedCapacity, p.market.Launches())); err != nil {
			return err
		}
	}
	if p.options.Core.FeatureGates.NodeOverlay {
		config.Overlays = op.InstanceTypeStore
	}
	if p.options.HostMaintenance {
		watcher := hostmaintenance.New(hostmaintenance.Config{
			API: p.client, Kube: op.GetClient(), Events: op.EventRecorder, Interval: p.options.CatalogInterval, OnPending: p.metrics.HostMaintenance,
		})
		config.HostMaintenance = watcher.Pending
		if err := add(op, watcher); err != nil {
			return err
		}
	}
	if err := register(ctx, p, op, config); err != nil {
		return err
	}
	if err := op.AddReadyzCheck("linode", p.health.check); err != nil {
		return fmt.Errorf("adding a readiness check: %w", err)
	}
	if err := add(op, p.market, p.fence); err != nil {
		return err
	}
	logStart(ctx, p, op.GetAPIReader())
	switch err := op.Manager.Start(ctx); {
	case errors.Is(err, syscall.EADDRINUSE):
		return &options.Error{Name: "METRICS_PORT", Found: "the port is in use", Err: err, Fix: "set METRICS_PORT to a free port"}
	case err != nil:
		return fmt.Errorf("the controllers ended: %w", err)
	}
	return nil
}

func add(op *coreoperator.Operator, runnables ...manager.Runnable) error {
	for _, runnable := range runnables {
		if err := op.Add(runnable); err != nil {
			return fmt.Errorf("adding %T: %w", runnable, err)
		}
	}
	return nil
}

// register adds core's controllers and the provider's own to the manager.
func register(ctx context.Context, p *platform, op *coreoperator.Operator, config cloudprovider.Config) error {
	o, classes := p.options, nodeclass.Config{Reader: op.GetAPIReader()}
	var lookup *nodeclass.Lookup // nil = the objects that a class names are not looked up
	if !o.DisableDryRun {
		lookup = nodeclass.NewLookup(p.client, mode.AnswerTTL)
		classes.Lookup, classes.Recheck = lookup, lookup.Young()
	}
	evicting := func(kube client.Client) client.Client { return kube }
	if o.SurgeBeforeDrain {
		surger := surge.New(op.GetClient(), op.GetAPIReader(), op.EventRecorder, op.Clock)
		evicting = func(kube client.Client) client.Client { return karpentercore.Evicting(kube, surger.Hold) }
	}
	drainer := drain.New(evicting(op.GetClient()), op.GetAPIReader(), op.EventRecorder)
	config.Keep = drainer.Keep
	nodes, err := p.cluster.New(ctx, mode.Deps{
		Options: o, Metrics: p.metrics, Linode: p.client, Token: tokenOf(o), Lookup: lookup, HourlyPrice: p.market.HourlyUSD,
		Operator: op, Drainer: drainer,
		Holder: p.holders.Holder, Catalog: p.market, Inventory: config.Inventory, Guard: p.guard,
	})
	if err != nil {
		return err
	}
	market := nodes.Catalog
	if market == nil {
		market = p.market
	}
	if err := add(op, nodes.Runnables...); err != nil {
		return err
	}
	memory, err := remember(ctx, p, op)
	if err != nil {
		return err
	}
	classes.Cluster = nodes.Cluster
	p.begin = func(ctx context.Context, released bool) error {
		// The engine needs complete records when it begins, and the cache may lag. So Holders first reads from the API server.
		if err := p.holders.Read(ctx, op.GetAPIReader()); err != nil {
			return err
		}
		nodes.Begin(released)
		return nil
	}
	if o.Core.DisableLeaderElection {
		if err := p.begin(ctx, false); err != nil {
			return err
		}
	}

	linodes := cloudprovider.New(op.GetClient(), nodes.Backend, market, config)
	provider := coremetrics.Decorate(linodes)
	overlaid := overlay.Decorate(provider, op.GetClient(), op.InstanceTypeStore)
	repair, err := health.NewRepairPolicyMatcher(ctx, overlaid)
	if err != nil {
		return err
	}
	op.Manager = karpentercore.Named(op.Manager, nodes.Naming, op.EventRecorder)
	clusterState := state.NewCluster(op.Clock, op.GetClient(), overlaid, state.WithRepairPolicyMatcher(repair))
	kube := evicting(karpentercore.Held(karpentercore.OnDemand(op.GetClient()), linodes.Held))
	core := karpentercore.Labelled(controllers.NewControllers(ctx, op.Manager, op.Clock, kube, op.EventRecorder,
		overlaid, provider, clusterState, op.InstanceTypeStore, op.PredictionStore), overlaid)
	op.WithControllers(ctx, core...)
	if o.Core.FeatureGates.CapacityBuffer {
		replan, err := karpentercore.NewReplan(core)
		if err != nil {
			return err
		}
		op.WithControllers(ctx, replan)
	}
	if o.NodePriceLabel {
		op.WithControllers(ctx, pricelabel.NewController(op.GetClient(), p.market, o.CatalogInterval))
	}
	op.WithControllers(ctx, nodes.Controllers...)
	op.WithControllers(ctx,
		nodeclass.NewController(op.GetClient(), op.EventRecorder, classes),
		garbagecollection.NewController(op.GetAPIReader(), op.GetClient(), nodes.Engine, drainer, garbagecollection.Config{
			Interval: o.GarbageCollectionInterval, DrainTimeout: o.OrphanDrainTimeout, OnCollected: p.metrics.Collected,
			NodeLabels: nodes.NodeLabels,
		}),
		garbagecollection.NewNodes(op.GetClient(), nodes.Backend),
		upkeep.NewController(op.GetClient(), nodes.Engine, linodes, nodes.Firewalls),
		learnedcapacity.NewController(op.GetClient(), p.market, memory, linodes.TooSmall),
		nodepoolstatus.NewController(op.GetClient(), linodes, nodepoolstatus.Token{Refused: p.health.refused.Load, Changed: p.health.changed},
			op.EventRecorder, o.MaxNodes > 0 || o.MaxHourlyPrice > 0),
		rollout.NewController(op.GetClient()),
		offhours.NewController(op.GetClient(), op.EventRecorder, op.Clock),
		launchfindings.NewController(op.GetClient(), linodes),
		joining.NewController(op.GetClient(), op.EventRecorder, p.market.Launches().Joined),
		podevents.NewController(op.GetClient(), linodes, p.health.refused.Load, op.EventRecorder),
	)
	return nil
}

// remember returns the Memory with the sizes of nodes that earlier processes have learned, nil if no ConfigMap is set. It reads the
// ConfigMap before the controllers start. If this read fails, the catalog plans with estimates until a later read succeeds.
func remember(ctx context.Context, p *platform, op *coreoperator.Operator) (*learnedcapacity.Memory, error) {
	if p.options.LearnedCapacity.Name == "" {
		return nil, nil
	}
	memory := learnedcapacity.NewMemory(op.GetAPIReader(), op.GetClient(), p.market, p.options.LearnedCapacity)
	ctx, cancel := context.WithTimeout(ctx, mode.StartTimeout)
	defer cancel()
	if err := memory.Load(ctx); err != nil {
		log.FromContext(ctx).Error(err, "could not read the learned sizes of instance types; trying again",
			"ConfigMap", p.options.LearnedCapacity)
	}
	return memory, add(op, memory)
}

// newOperator makes core's operator with its manager. An error names the setting that caused it.
func newOperator(ctx context.Context, p *platform) (*coreoperator.Operator, error) {
	config, err := controllerruntime.GetConfig()
	if err != nil {
		return nil, &options.Error{Name: "KUBECONFIG", Found: "no Kubernetes cluster to talk to", Err: err,
			Fix: "run inside a cluster, or set KUBECONFIG to a kubeconfig file"}
	}
	o := p.options
	op, err := karpentercore.NewOperator(ctx, karpentercore.Config{
		Options: o.Core, Kubernetes: config, MetricsAddress: o.MetricsAddress, ProbeAddress: o.ProbeAddress, Lock: p.fence.Lock,
	})
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &options.Error{Name: "HEALTH_PROBE_PORT", Found: "the port is in use", Err: err, Fix: "set HEALTH_PROBE_PORT to a free port"}
	case errors.Is(err, karpentercore.ErrNoNamespace):
		return nil, &options.Error{Name: "LEADER_ELECTION_NAMESPACE", Found: "not set", Err: err,
			Fix: "set it to the namespace of the Lease, or set DISABLE_LEADER_ELECTION"}
	case err != nil:
		return nil, &options.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: options.FixKubernetes}
	}
	if err := checkDefinitions(op.GetRESTMapper(), o.Core.FeatureGates); err != nil {
		return nil, err
	}
	if err := karpentercore.Index(ctx, op.GetFieldIndexer()); err != nil {
		return nil, &options.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: options.FixKubernetes}
	}
	return op, nil
}

// checkDefinitions returns an error if the cluster lacks the CRD of a kind that the operator needs. Without this check, the controllers or
// core's caches would wait for the kind for minutes and then fail.
func checkDefinitions(mapper meta.RESTMapper, gates coreoptions.FeatureGates) error {
	for _, needed := range []struct {
		kind schema.GroupVersionKind
		gate string // the feature gate that needs the kind; empty = always needed
		off  bool
	}{
		{kind: v1alpha1.GroupVersionKind},
		{kind: schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodePool"}},
		{kind: schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodeClaim"}},
		{kind: schema.GroupVersionKind{Group: apis.Group, Version: "v1alpha1", Kind: "NodeOverlay"}, gate: "NodeOverlay",
			off: !gates.NodeOverlay},
		{kind: schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}, gate: "CapacityBuffer",
			off: !gates.CapacityBuffer},
	} {
		if needed.off {
			continue
		}
		_, err := mapper.RESTMapping(needed.kind.GroupKind(), needed.kind.Version)
		switch {
		case err == nil:
		case !meta.IsNoMatchError(err):
			return &options.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: options.FixKubernetes}
		case needed.gate != "":
			return &options.Error{Name: "FEATURE_GATES",
				Found: fmt.Sprintf("%s is on, and the Kubernetes cluster has no %s %s", needed.gate, needed.kind.GroupVersion(), needed.kind.Kind),
				Err:   err, Fix: "install this version of the chart karpenter-crd first, or turn the gate off"}
		default:
			return &options.Error{Name: "KUBECONFIG", Found: fmt.Sprintf("the Kubernetes cluster does not know %s", needed.kind.Kind), Err: err,
				Fix: "install the chart karpenter-crd first"}
		}
	}
	return nil
}
