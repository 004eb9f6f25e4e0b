package blockstorage

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

const (
	// Driver is the driver's name.
	Driver = "linodebs.csi.linode.com"
	// TopologyKey is the label by which the driver finds where a volume can be attached.
	TopologyKey = "topology.linode.com/region"
)

// Config of the driver.
type Config struct {
	Cluster *rest.Config
	// Linode is the account's API, by which volumes are made and attached there as well; nil = they are objects of Kubernetes alone.
	Linode *linodehttp.Client
	// Resync is how often attachments are compared with the account.
	Resync time.Duration
	Log    *slog.Logger
}

// ResyncPeriod is that of the external-attacher beside the driver: its flag --reconcile-sync, which the driver's manifest leaves out.
const ResyncPeriod = time.Minute

// Run runs the driver until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	crlog.SetLogger(logr.Discard()) // of client-go's caches, which would complain on standard error without it
	unchecked := true               // several clusters run in one process, and names of controllers are checked process-wide
	manager, err := controllerruntime.NewManager(cfg.Cluster, controllerruntime.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &unchecked},
		Logger:     logr.FromSlogHandler(cfg.Log.With("part", "blockstorage").Handler()),
	})
	if err != nil {
		return err
	}
	c := manager.GetClient()
	var volumes *account
	lost := &lost{again: make(chan event.GenericEvent)}
	if cfg.Linode != nil {
		volumes = &account{cfg.Linode}
		if err := manager.Add(resync{c, *volumes, lost, cfg.Resync, cfg.Log}); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		object   client.Object
		reconcil reconcile.Reconciler
	}{
		{&corev1.Node{}, nodePlugin{c, volumes}},
		{&corev1.PersistentVolumeClaim{}, provisioner{c, volumes}},
		{&corev1.PersistentVolume{}, remover{c, volumes}},
	} {
		if err := controllerruntime.NewControllerManagedBy(manager).For(part.object).Complete(part.reconcil); err != nil {
			return err
		}
	}
	err = controllerruntime.NewControllerManagedBy(manager).For(&storagev1.VolumeAttachment{}).
		WatchesRawSource(source.Channel(lost.again, &handler.EnqueueRequestForObject{})).Complete(attacher{c, volumes, lost})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// found reads an object; false when it does not exist.
func found(ctx context.Context, c client.Client, request reconcile.Request, object client.Object) (bool, error) {
	err := c.Get(ctx, request.NamespacedName, object)
	return err == nil, client.IgnoreNotFound(err)
}
