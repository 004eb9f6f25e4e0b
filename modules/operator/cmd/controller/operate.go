package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
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
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/learnedcapacity"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/pricelabel"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unclaimed"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/ondemand"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/severity"
)

// How old answers about the cluster and about what a LinodeNodeClass names may be.
const answerTTL = 4 * time.Minute

// operate runs the controllers until ctx ends.
//
//nolint:contextcheck // core makes a context of its own, with its options and logger; it is ended with ctx below
func operate(ctx context.Context, o options.Options, p *platform) error {
	// Asked for first because core ends the process in its own words when there is no configuration.
	elector, err := controllerruntime.GetConfig()
	if err != nil {
		return &setting.Error{Name: "KUBECONFIG", Found: "no Kubernetes cluster to talk to", Err: err,
			Fix: "run inside a cluster, or set KUBECONFIG to a kubeconfig file"}
	}
	coreoptions.Injectables = append(coreoptions.Injectables, options.Injectable{})
	elector.Wrap(p.fence.Watch)
	coreCtx, op, err := newOperator(elector)
	if err != nil {
		return err
	}
	if err := checkDefinitions(op.GetRESTMapper()); err != nil {
		return err
	}
	if err := checkGatedDefinitions(coreoptions.FromContext(coreCtx).FeatureGates, op.GetRESTMapper()); err != nil {
		return err
	}
	if err := trimCache(coreCtx, op.GetCache()); err != nil {
		return err
	}
	config := cloudprovider.Config{
		Cluster:        cloudprovider.Cluster{Name: p.cluster.Name, Region: p.cluster.Region, Tier: p.cluster.Tier},
		CreateDeadline: o.CreateDeadline,
		OnClaim:        p.metrics.Claim,
		// Once LKE was seen to put the taint back, it does more harm than good.
		UnregisteredTaint: func() bool { return o.UnregisteredTaint && !p.taintReturned.Load() },
		RelaxMinValues:    coreoptions.FromContext(coreCtx).MinValuesPolicy == coreoptions.MinValuesPolicyBestEffort,
		Events:            op.EventRecorder,
	}
	if coreoptions.FromContext(coreCtx).FeatureGates.NodeOverlay {
		config.Overlays = op.InstanceTypeStore
	}
	linodes := cloudprovider.New(op.GetClient(), p.pools, p.catalog, config)
	provider := coremetrics.Decorate(linodes)
	if o.AdoptAlpha {
		if err := op.Add(adoption.New(adoption.Config{
			API: p.client, Kube: op.GetClient(), ClusterID: p.cluster.ID, Wanted: linodes.Wanted, Events: op.EventRecorder,
		})); err != nil {
			return fmt.Errorf("adding the adoption of nodes: %w", err)
		}
	}
	memory := remember(coreCtx, o, p, op)
	register(coreCtx, o, p, op, provider, memory)
	if err := op.AddReadyzCheck("linode", p.health.check); err != nil {
		return fmt.Errorf("adding a readiness check: %w", err)
	}
	if err := op.Add(p.catalog); err != nil {
		return fmt.Errorf("adding the refresh of instance types: %w", err)
	}
	if err := op.Add(softLimit{most: debug.SetMemoryLimit(-1)}); err != nil { // a negative limit asks for the present one
		return fmt.Errorf("adding the limit on memory: %w", err)
	}
	if err := op.Add(p.fence); err != nil {
		return fmt.Errorf("adding the watch on the Lease: %w", err)
	}
	if memory != nil {
		if err := op.Add(memory); err != nil {
			return fmt.Errorf("adding the memory of instance types: %w", err)
		}
	}
	log.FromContext(coreCtx).Info("discovered the LKE cluster", "cluster", p.cluster.Name, "id", p.cluster.ID,
		"tier", p.cluster.Tier, "region", p.cluster.Region, "version", p.cluster.Version)

	coreCtx, cancel := context.WithCancel(coreCtx) // core's context has its options and its logger, but no end
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if err := op.Manager.Start(coreCtx); err != nil {
		return runProblem(err)
	}
	return nil
}

// register adds core's controllers and the provider's own to the manager.
func register(ctx context.Context, o options.Options, p *platform, op *coreoperator.Operator, provider corecloudprovider.CloudProvider, memory *learnedcapacity.Memory) {
	overlaid := overlay.Decorate(provider, op.GetClient(), op.InstanceTypeStore)
	kube := ondemand.Client(unclaimed.Client(op.GetClient()))
	clusterState := state.NewCluster(op.Clock, kube, overlaid)
	op.WithControllers(ctx, controllers.NewControllers(ctx, op.Manager, op.Clock, kube, op.EventRecorder,
		overlaid, provider, clusterState, op.InstanceTypeStore)...)

	tracker := discovery.NewTracker(p.client, p.cluster, answerTTL)
	classes := nodeclass.Config{Reader: op.GetAPIReader(), Cluster: func(ctx context.Context) status.Cluster {
		cluster := tracker.Cluster(ctx)
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
			Interval: o.GarbageCollectionInterval, OnCollected: p.metrics.Collected,
		}),
		unclaimed.NewController(op.GetClient(), p.pools, drainer, op.EventRecorder, unclaimed.Config{
			OnReturned: func() { p.taintReturned.Store(true) },
		}),
		tagging.NewController(op.GetClient(), p.pools),
		learnedcapacity.NewController(op.GetClient(), p.catalog, memory),
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

// newOperator sets up core's manager, with a client for its leader election. Core panics when it cannot; that is a
// matter of settings and deserves a line, not a stack.
func newOperator(elector *rest.Config) (ctx context.Context, op *coreoperator.Operator, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = setupProblem(fmt.Sprint(cause))
		}
	}()
	ctx, op = coreoperator.NewOperator(coreoperator.WithLeaderElectionConfig(elector))
	// Here, because each controller keeps the logger that the manager has when it is registered.
	if op.Manager, err = severity.Manager(op.Manager); err != nil {
		return nil, nil, fmt.Errorf("replacing the controllers' logger: %w", err)
	}
	return ctx, op, nil
}

// setupProblem names the setting behind what core panicked with, which is a text.
func setupProblem(text string) error {
	if strings.Contains(text, syscall.EADDRINUSE.Error()) {
		return &setting.Error{Name: "HEALTH_PROBE_PORT", Found: "the port is in use: " + text, Fix: "set HEALTH_PROBE_PORT to a free port"}
	}
	return &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster: " + text,
		Fix: "check that the API server answers, and the kubeconfig or ServiceAccount"}
}

// checkDefinitions looks for the kinds whose absence would let every controller wait for minutes and then fail.
func checkDefinitions(mapper meta.RESTMapper) error {
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersionKind,
		{Group: apis.Group, Version: "v1", Kind: "NodePool"},
		{Group: apis.Group, Version: "v1", Kind: "NodeClaim"},
	} {
		if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return &setting.Error{Name: "KUBECONFIG", Found: fmt.Sprintf("the Kubernetes cluster does not know %s", kind.Kind), Err: err,
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
