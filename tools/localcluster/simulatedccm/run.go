package simulatedccm

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	"k8s.io/cloud-provider/controllers/service"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// Defaults of Kubernetes' own flags of a cloud controller manager, and of Linode's.
const (
	statusFrequency = 5 * time.Minute
	monitorPeriod   = 5 * time.Second
	cacheTTL        = 15 * time.Second
	workers         = 5
	defaultCluster  = "kubernetes"
	defaultSubnet   = "default"
)

// Config has the manager's flags and environment. Kube, APIURL, Token and Region are required.
type Config struct {
	Kube   *rest.Config
	APIURL string
	Token  string
	Region string // of NodeBalancers

	TagFilter   string   // --linode-tag-filter
	VPCNames    []string // --vpc-names
	SubnetNames []string // --subnet-names; nil = the subnet with the label default

	CacheTTL      time.Duration // greatest age of the list of Linodes, LINODE_INSTANCE_CACHE_TTL; 0 = 15 s
	MonitorPeriod time.Duration // --node-monitor-period; 0 = 5 s

	// Hold keeps a Node uninitialized while it returns true for the Node's name: the Node keeps its taint
	// node.cloudprovider.kubernetes.io/uninitialized, and the manager writes no addresses, labels and annotations. Package localcluster
	// holds a Node until its simulated kubelet is ready for pods. nil holds no Node. Several goroutines call Hold.
	Hold func(node string) bool
	// KeepInternalDNS keeps addresses of the type InternalDNS, by which `kubectl logs` finds the server of this machine's logs.
	KeepInternalDNS bool
	Log             *slog.Logger
}

// cloud is Linode's part of the manager.
type cloud struct {
	instances *instances
	balancers *balancers
}

var _ cloudprovider.Interface = (*cloud)(nil)

func (*cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancers, true }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return c.instances, true }
func (*cloud) Instances() (cloudprovider.Instances, bool)         { return nil, false }
func (*cloud) Zones() (cloudprovider.Zones, bool)                 { return nil, false }
func (*cloud) Clusters() (cloudprovider.Clusters, bool)           { return nil, false }
func (*cloud) Routes() (cloudprovider.Routes, bool)               { return nil, false }
func (*cloud) ProviderName() string                               { return "linode" }
func (*cloud) HasClusterID() bool                                 { return true }

func newCloud(cfg Config, kube kubernetes.Interface) *cloud {
	api := linodehttp.New(cfg.APIURL, cfg.Token, "linode-cloud-controller-manager")
	return &cloud{
		instances: &instances{api: api, cfg: cfg, known: map[int]linodeOf{}, vpcs: newNetworks()},
		balancers: &balancers{api: api, kube: kube, cfg: cfg, vpcs: newNetworks()},
	}
}

func (cfg *Config) complete() {
	cfg.CacheTTL, cfg.MonitorPeriod = cmp.Or(cfg.CacheTTL, cacheTTL), cmp.Or(cfg.MonitorPeriod, monitorPeriod)
	if cfg.SubnetNames == nil {
		cfg.SubnetNames = []string{defaultSubnet}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
}

// silenced switches off klog, the one logger of all Kubernetes' controllers in this process, which writes to standard error by default.
// Events and this package's own log show what the controllers did.
var silenced = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// Run runs the manager until ctx ends, and then returns nil. It returns an error only if it cannot build the manager; later errors appear
// in events and in Config.Log. It switches off klog for the whole process.
func Run(ctx context.Context, cfg Config) error {
	silenced()
	cfg.complete()
	kube, err := kubernetes.NewForConfig(cfg.Kube)
	if err != nil {
		return err
	}
	linode := newCloud(cfg, kube)
	shared := informers.NewSharedInformerFactory(kube, 0)
	nodes, services := shared.Core().V1().Nodes(), shared.Core().V1().Services()
	initializing, err := node.NewCloudNodeController(nodes, kube, linode, statusFrequency, workers, workers)
	if err != nil {
		return err
	}
	lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(nodes, kube, linode, cfg.MonitorPeriod)
	if err != nil {
		return err
	}
	balancing, err := service.New(linode, kube, services, nodes, defaultCluster, featuregate.NewFeatureGate())
	if err != nil {
		return err
	}
	describing, err := newMetadata(kube, nodes, linode.instances, cfg.Log)
	if err != nil {
		return err
	}
	shared.Start(ctx.Done())
	defer shared.Shutdown()
	shared.WaitForCacheSync(ctx.Done())
	measured := controllers.NewControllerManagerMetrics("simulatedccm")
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { initializing.RunWithContext(ctx, measured) })
	all.Go(func() { lifecycle.Run(ctx, measured) })
	all.Go(func() { balancing.Run(ctx, workers, measured) })
	all.Go(func() { describing.run(ctx) })
	<-ctx.Done()
	return nil
}
