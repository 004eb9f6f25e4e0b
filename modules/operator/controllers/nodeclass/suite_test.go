package nodeclass_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

// Here no manager runs: each test reconciles itself, so that it can end the process between any two writes.
var (
	config *rest.Config
	kube   client.WithWatch // reads from the API server
	cached client.WithWatch // reads from a cache, as the controller does
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if flag.Parse(); testing.Short() {
		return 0 // all of it needs an API server
	}
	environment, err := apiserver.Start(crds.All())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	config = environment.Config
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme}); err == nil {
		cached, err = newCached(ctx, cache.Options{Scheme: scheme.Scheme})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// newCached returns a client that reads from a cache with the indexes that Karpenter core adds to its own.
func newCached(ctx context.Context, options cache.Options) (client.WithWatch, error) {
	reader, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	for field, value := range map[string]func(*karpv1.NodeClassReference) string{
		"spec.nodeClassRef.group": func(r *karpv1.NodeClassReference) string { return r.Group },
		"spec.nodeClassRef.kind":  func(r *karpv1.NodeClassReference) string { return r.Kind },
		"spec.nodeClassRef.name":  func(r *karpv1.NodeClassReference) string { return r.Name },
	} {
		if err := reader.IndexField(ctx, &karpv1.NodeClaim{}, field, func(o client.Object) []string {
			return []string{value(o.(*karpv1.NodeClaim).Spec.NodeClassRef)}
		}); err != nil {
			return nil, err
		}
	}
	go func() { _ = reader.Start(ctx) }()
	if !reader.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("the cache does not start")
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme, Cache: &client.CacheOptions{Reader: reader}})
}

var enterprise = status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierEnterprise, Region: "us-ord", ControlPlaneVersion: "v1.33.6+lke7"}

// process is one life of the operator: a restart is another process with the same objects.
type process struct {
	*nodeclass.Controller
	kube     client.Client
	recorder *recorder
}

func start(kube client.Client, cfg nodeclass.Config) process {
	if cfg.Cluster == nil {
		cfg.Cluster = func(context.Context) status.Cluster { return enterprise }
	}
	if cfg.Reader == nil {
		cfg.Reader = kube
	}
	r := &recorder{}
	return process{nodeclass.NewController(kube, r, cfg), kube, r}
}

// reconcile looks at a class once, as the cache has it.
func (p process) reconcile(ctx context.Context, name string) (time.Duration, error) {
	class := &v1alpha1.LinodeNodeClass{}
	if err := p.kube.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return 0, err
	}
	result, err := p.Reconcile(ctx, class)
	return result.RequeueAfter, err
}

// until reconciles a class until it is as wanted at the API server. The cache may lag behind.
func (p process) until(t *testing.T, name, what string, is func(*v1alpha1.LinodeNodeClass) bool) *v1alpha1.LinodeNodeClass {
	t.Helper()
	class := &v1alpha1.LinodeNodeClass{}
	eventually(t, what, func() bool {
		if _, err := p.reconcile(t.Context(), name); client.IgnoreNotFound(err) != nil {
			t.Logf("reconciling: %v", err)
		}
		return kube.Get(t.Context(), client.ObjectKey{Name: name}, class) == nil && is(class)
	})
	return class
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// inCache waits until the cache has an object as it is stored.
func inCache(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		copied := object.DeepCopyObject().(client.Object)
		eventually(t, "the cache has "+object.GetName(), func() bool {
			return cached.Get(t.Context(), client.ObjectKeyFromObject(object), copied) == nil &&
				copied.GetResourceVersion() == object.GetResourceVersion()
		})
	}
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func claimOf(class, name string, annotations map[string]string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: class},
			Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
			Resources:    karpv1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		},
	}
}

type recorder struct {
	mu   sync.Mutex
	said []string
}

func (r *recorder) Publish(published ...events.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range published {
		r.said = append(r.said, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
}
