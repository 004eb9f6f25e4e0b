package blockstorage

import (
	"context"
	"log/slog"
	"net"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

const (
	// Driver is the driver's name.
	Driver = "linodebs.csi.linode.com"
	// TopologyKey is the key of the region in the driver's topology: a volume can be attached only to nodes of its region.
	TopologyKey = "topology.linode.com/region"
)

// Config of the driver. All fields are required.
type Config struct {
	Cluster *rest.Config
	Linode  *linodehttp.Client // of the account that has the volumes
	Region  string             // of the controller itself, for volumes whose request names no region
	Socket  string             // file at which the driver's services are served; it must not exist yet; at most 108 bytes
	Log     *slog.Logger
}

// Run runs the driver until ctx ends, and then returns nil. An error means that the driver could not start, or that it has stopped serving.
func Run(ctx context.Context, cfg Config) error {
	crlog.SetLogger(logr.Discard()) // for client-go's caches; without a logger, a warning would appear on standard error
	unchecked := true               // several clusters run in one process, and names of controllers are checked process-wide
	manager, err := controllerruntime.NewManager(cfg.Cluster, controllerruntime.Options{
		Metrics:    metrics.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &unchecked},
		Logger:     logr.FromSlogHandler(cfg.Log.With("part", "blockstorage").Handler()),
	})
	if err != nil {
		return err
	}
	c, volumes := manager.GetClient(), account{cfg.Linode}
	err = controllerruntime.NewControllerManagedBy(manager).For(&corev1.Node{}).Complete(nodePlugin{c, volumes})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", cfg.Socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := manager.Add(server{listener, controller{account: volumes, region: cfg.Region, pods: pods{c, cfg.Log}}}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// found reads an object; false when it does not exist.
func found(ctx context.Context, c client.Client, request reconcile.Request, object client.Object) (bool, error) {
	err := c.Get(ctx, request.NamespacedName, object)
	return err == nil, client.IgnoreNotFound(err)
}
