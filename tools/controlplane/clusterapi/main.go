// Command clusterapi runs Cluster API's own controllers and admission webhooks in a local cluster.
//
//	KUBECONFIG=admin.conf clusterapi --health-port=9440 --webhook-port=9443 --certificates=DIR
//
// Real parts: the reconcilers of Cluster, MachineDeployment, MachineSet and Machine, the kubeadm bootstrap provider, the cache of the
// workload cluster that they share, and the webhooks that default and validate these kinds (core/main.go and bootstrap/kubeadm/main.go of
// module sigs.k8s.io/cluster-api start the same reconcilers and webhooks). The programs themselves are not used: their webhook servers
// listen on all addresses, and two processes take more processor time than one process.
//
// Parts that do not run: a control plane provider, because the control plane exists already; MachinePool, MachineHealthCheck, topologies,
// ClusterResourceSet, runtime extensions, and the migration of stored versions; conversion, because only v1beta2 is served.
//
// It is built by package controlplane and run by package localcluster/management. DIR has webhook.crt and webhook.key. It listens on
// loopback only, and exits with 1 and one line on failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/reconcilers/kubeadmconfig"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Defaults of the flags of Cluster API's own programs.
const (
	name                  = "cluster-api-controller-manager"
	loopback              = "127.0.0.1"
	syncPeriod            = 10 * time.Minute
	tokenTTL              = 15 * time.Minute
	qps                   = 100
	burst                 = 200
	workloadQPS           = 20
	workloadBurst         = 30
	connectionGracePeriod = 50 * time.Second
	conditionsGracePeriod = 5 * time.Minute
)

// workers of each controller; Cluster API's defaults are 10 to 100, for many clusters.
var workers = controller.Options{MaxConcurrentReconciles: 20}

type flags struct {
	healthPort, webhookPort int
	certificates            string
}

func main() {
	var f flags
	flag.IntVar(&f.healthPort, "health-port", 0, "port of /readyz and /healthz")
	flag.IntVar(&f.webhookPort, "webhook-port", 0, "port of the admission webhooks")
	flag.StringVar(&f.certificates, "certificates", "", "folder with webhook.crt and webhook.key")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), f); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags) error {
	// No controller for MachinePools runs. With the feature gate on, other controllers would list and watch MachinePools.
	if err := feature.MutableGates.Set(string(feature.MachinePool) + "=false"); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = qps, burst
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme,
		clusterv1beta1.AddToScheme, bootstrapv1beta1.AddToScheme, // the webhooks register a converter from these
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	cached, err := caches(scheme)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: cached, Client: setup.ManagerClientOptions(),
		Metrics:                server.Options{BindAddress: "0"}, // none
		HealthProbeBindAddress: net.JoinHostPort(loopback, strconv.Itoa(f.healthPort)),
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: loopback, Port: f.webhookPort, CertDir: f.certificates, CertName: "webhook.crt", KeyName: "webhook.key",
		}),
	})
	if err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("webhook", manager.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := index.AddDefaultIndexes(ctx, manager); err != nil {
		return err
	}
	workload, err := reconcilers(ctx, manager)
	if err != nil {
		return err
	}
	if err := webhooks(manager, workload); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// caches holds the Secrets of Clusters only, with their content: core reads kubeconfigs from the cache, and the bootstrap provider reads
// certificates.
func caches(scheme *runtime.Scheme) (cache.Options, error) {
	ofClusters, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	options := setup.ManagerCacheOptions(scheme, name, "", syncPeriod)
	if err == nil {
		options.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.NewSelector().Add(*ofClusters)}}
	}
	return options, err
}

// reconcilers adds all controllers, and returns the cache of the workload cluster.
func reconcilers(ctx context.Context, manager ctrl.Manager) (clustercache.ClusterCache, error) {
	secrets, err := setup.CreateSecretCachingClient(manager)
	if err != nil {
		return nil, err
	}
	workload, err := clustercache.SetupWithManager(ctx, manager, clustercache.Options{
		SecretClient: secrets, Cache: setup.ClusterCacheCacheOptions(),
		Client: setup.ClusterCacheClientOptions(name, workloadQPS, workloadBurst),
	}, workers)
	if err != nil {
		return nil, err
	}
	kube, reader := manager.GetClient(), manager.GetAPIReader()
	for _, r := range []interface {
		SetupWithManager(context.Context, ctrl.Manager, controller.Options) error
	}{
		&cluster.Reconciler{Client: kube, APIReader: reader, ClusterCache: workload, RemoteConnectionGracePeriod: connectionGracePeriod},
		&machine.Reconciler{Client: kube, APIReader: reader, ClusterCache: workload, RemoteConditionsGracePeriod: conditionsGracePeriod},
		&machineset.Reconciler{Client: kube, APIReader: reader, ClusterCache: workload},
		&machinedeployment.Reconciler{Client: kube, APIReader: reader},
		&kubeadmconfig.Reconciler{Client: kube, SecretCachingClient: secrets, APIReader: reader, ClusterCache: workload, TokenTTL: tokenTTL},
	} {
		if err := r.SetupWithManager(ctx, manager, workers); err != nil {
			return nil, err
		}
	}
	return workload, nil
}

// webhooks adds the webhooks of the kinds that the controllers reconcile.
func webhooks(manager ctrl.Manager, workload clustercache.ClusterCache) error {
	for _, w := range []interface {
		SetupWebhookWithManager(ctrl.Manager) error
	}{
		&admission.Cluster{Client: manager.GetClient(), ClusterCacheReader: workload}, &admission.Machine{}, &admission.MachineSet{},
		&admission.MachineDeployment{}, &bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
	} {
		if err := w.SetupWebhookWithManager(manager); err != nil {
			return err
		}
	}
	return nil
}
