package simulatedcapl

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// Definitions has the CRDs of CAPL's kinds.
//
//go:embed crds.yaml
var Definitions []byte

var (
	infrastructure = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha2"}
	core           = schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
)

// CAPL's delays (util/reconciler/defaults.go), without their random part.
const (
	stepDelay  = 25 * time.Second // while a Linode boots, and after a step that failed
	retryDelay = 8 * time.Second
	limitDelay = time.Minute
	workers    = 10 // of LinodeMachines: flag linodemachine-concurrency in cmd/main.go
)

// Config of the provider. Kube, APIURL and Token are required.
type Config struct {
	Kube   *rest.Config
	APIURL string
	Token  string
	// StepDelay replaces CAPL's 25 s, for simulated Linodes that boot in less than 25 s; 0 = 25 s.
	StepDelay time.Duration
	Log       *slog.Logger
}

// Run runs the provider until ctx ends. The CRDs must be installed.
func Run(ctx context.Context, cfg Config) error {
	crlog.SetLogger(logr.Discard()) // for client-go's caches; without a logger, a warning would appear on standard error
	unchecked := true               // several clusters run in one process, and names of controllers are checked process-wide
	manager, err := controllerruntime.NewManager(cfg.Kube, controllerruntime.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &unchecked},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Logger:     logr.FromSlogHandler(cfg.Log.With("part", "capl").Handler()),
	})
	if err != nil {
		return err
	}
	linode := account{linodehttp.New(cfg.APIURL, cfg.Token, "cluster-api-provider-linode")}
	machines := &machines{kube: manager.GetClient(), secrets: manager.GetAPIReader(), linode: linode,
		delay: cmp.Or(cfg.StepDelay, stepDelay)}
	err = controllerruntime.NewControllerManagedBy(manager).For(object(infrastructure, "LinodeMachine")).
		Watches(object(core, "Machine"), handler.EnqueueRequestsFromMapFunc(infrastructureOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(machines)
	if err != nil {
		return err
	}
	err = controllerruntime.NewControllerManagedBy(manager).For(object(infrastructure, "LinodeCluster")).
		Complete(&clusters{kube: manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

func object(of schema.GroupVersion, kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(of.WithKind(kind))
	return o
}

// infrastructureOf returns the LinodeMachine of a Machine.
func infrastructureOf(_ context.Context, machine client.Object) []reconcile.Request {
	m, ok := machine.(*unstructured.Unstructured)
	if !ok || text(m, "spec", "infrastructureRef", "kind") != "LinodeMachine" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: m.GetNamespace(), Name: text(m, "spec", "infrastructureRef", "name"),
	}}}
}

// text returns a field of an object, "" if the field is missing.
func text(of *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(of.Object, path...)
	return value
}

// owner returns an object's owner of a kind of Cluster API. It returns nil if core has not set the owner yet.
func owner(ctx context.Context, kube client.Reader, of *unstructured.Unstructured, kind string) (*unstructured.Unstructured, error) {
	for _, reference := range of.GetOwnerReferences() {
		if version, _ := schema.ParseGroupVersion(reference.APIVersion); version.Group == core.Group && reference.Kind == kind {
			found := object(core, kind)
			return found, kube.Get(ctx, client.ObjectKey{Namespace: of.GetNamespace(), Name: reference.Name}, found)
		}
	}
	return nil, nil
}
