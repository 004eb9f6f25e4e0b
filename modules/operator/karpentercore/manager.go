package karpentercore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // registers the profiles
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/serrors"
	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/events"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/prediction"
)

// Config configures the manager.
type Config struct {
	Options    *coreoptions.Options
	Kubernetes *rest.Config
	// MetricsAddress and ProbeAddress are the IP addresses to listen on; empty = all addresses of the host.
	MetricsAddress, ProbeAddress string
	// Lock wraps the lock through which the elector holds the Lease.
	Lock func(resourcelock.Interface) resourcelock.Interface
}

// renewDeadline bounds a request of the lock, which must not take longer than one renewal. It is controller-runtime's own default, as are
// all other times of the elector.
const renewDeadline = 10 * time.Second

// ErrNoNamespace is the error of NewOperator if neither a setting nor the pod's ServiceAccount names the namespace of the Lease.
var ErrNoNamespace = errors.New("the process runs in no pod, so the namespace of the Lease is unknown")

// Logger returns core's logger, and sets it as the logger of controller-runtime and client-go.
func Logger(ctx context.Context, o *coreoptions.Options) (logr.Logger, error) {
	zapLogger, err := boundedLines(logging.DefaultZapConfig(coreoptions.ToContext(ctx, o), "controller")).Build()
	if err != nil {
		return logr.Logger{}, fmt.Errorf("opening the log: %w", err)
	}
	logger := serrors.NewLogger(zapr.NewLogger(logging.WithCommit(zapLogger).Named("controller")))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	return logger, nil
}

// NewOperator makes core's Operator without starting it. The context must contain core's options and the logger, which every reconcile
// takes from it. Call Index before you register a controller.
func NewOperator(ctx context.Context, cfg Config) (*coreoperator.Operator, error) {
	if cfg.Options.MemoryLimit > 0 {
		debug.SetMemoryLimit(cfg.Options.MemoryLimit / 10 * 9)
	}
	kubernetesConfig := rest.CopyConfig(cfg.Kubernetes)
	kubernetesConfig.QPS, kubernetesConfig.Burst = float32(cfg.Options.KubeClientQPS), cfg.Options.KubeClientBurst
	kubernetesConfig.UserAgent = coreoperator.AppName + "/" + coreoperator.Version
	clientset, err := kubernetes.NewForConfig(kubernetesConfig)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	options, err := managerOptions(ctx, cfg)
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(kubernetesConfig, options)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := addChecks(mgr); err != nil {
		return nil, fmt.Errorf("adding health checks: %w", err)
	}
	return &coreoperator.Operator{
		Manager:             mgr,
		KubernetesInterface: clientset,
		EventRecorder:       events.NewRecorder(mgr.GetEventRecorderFor(coreoperator.AppName)), //nolint:staticcheck // core takes this kind
		Clock:               clock.RealClock{},
		InstanceTypeStore:   nodeoverlay.NewInstanceTypeStore(),
		PredictionStore:     prediction.NewStore(),
	}, nil
}

func managerOptions(ctx context.Context, cfg Config) (manager.Options, error) {
	o := cfg.Options
	options := manager.Options{
		Logger:                        withoutStarts(logging.IgnoreDebugEvents(log.FromContext(ctx))),
		LeaderElection:                !o.DisableLeaderElection,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: address(cfg.MetricsAddress, o.MetricsPort)},
		HealthProbeBindAddress:        address(cfg.ProbeAddress, o.HealthProbePort),
		BaseContext:                   func() context.Context { return context.WithoutCancel(ctx) },
		Cache:                         CacheOptions(),
		Controller:                    ctrlconfig.Controller{EnableWarmup: new(!o.DisableLeaderElection && !o.DisableControllerWarmup)},
	}
	if o.EnableProfiling {
		// net/http/pprof registers its handlers on http.DefaultServeMux.
		options.Metrics.ExtraHandlers = map[string]http.Handler{"/debug/pprof/": onLoopback(http.DefaultServeMux)}
	}
	if o.DisableLeaderElection {
		return options, nil
	}
	lock, err := newLock(cfg)
	if err != nil {
		return options, fmt.Errorf("making the lock for leader election: %w", err)
	}
	options.LeaderElectionResourceLockInterface = cfg.Lock(lock)
	options.LeaderElectionID = o.LeaderElectionName // with a lock, this is only the name in leader_election_master_status
	return options, nil
}

func address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// newLock makes the same lock as controller-runtime. The lock has its own client, so that requests of controllers do not delay a renewal.
func newLock(cfg Config) (resourcelock.Interface, error) {
	namespace := cfg.Options.LeaderElectionNamespace
	if namespace == "" {
		content, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoNamespace, err)
		}
		namespace = strings.TrimSpace(string(content))
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, cfg.Options.LeaderElectionName,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}, cfg.Kubernetes, renewDeadline)
}

func addChecks(mgr manager.Manager) error {
	return errors.Join(
		mgr.AddHealthzCheck("healthz", healthz.Ping),
		mgr.AddReadyzCheck("readyz", healthz.Ping),
		mgr.AddReadyzCheck("manager", func(request *http.Request) error {
			if !mgr.GetCache().WaitForCacheSync(request.Context()) {
				return errors.New("the caches are not filled")
			}
			return nil
		}),
		mgr.AddReadyzCheck("crd", func(*http.Request) error {
			_, pools := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: apis.Group, Kind: "NodePool"}, "v1")
			_, claims := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: apis.Group, Kind: "NodeClaim"}, "v1")
			return errors.Join(pools, claims)
		}),
	)
}

// onLoopback refuses requests that do not come over a loopback address, because a profile shows memory. kubectl port-forward uses a
// loopback address.
func onLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		local, ok := request.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if !ok || !local.IP.IsLoopback() {
			http.Error(w, "profiles are served on loopback only: use kubectl port-forward", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, request)
	})
}
