package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/tagging"
)

var (
	environment *envtest.Environment
	mgr         manager.Manager
	kube        client.Client // reads from the API server, so that a test sees its own writes
	sim         *linodesim.Sim
	tagPools    *lkepool.Allocator
	recorded    = &recorder{}
	stopManager context.CancelFunc
	ended       chan error

	clusterMu sync.Mutex
	cluster   status.Cluster
)

func TestControllers(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controllers of the provider")
}

var _ = BeforeSuite(func() {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultConsistentlyDuration(time.Second)
	var err error
	environment, err = apiserver.Start(crds.All())
	Expect(err).NotTo(HaveOccurred())
	config := environment.Config
	kube, err = client.New(config, client.Options{Scheme: scheme.Scheme})
	Expect(err).NotTo(HaveOccurred())
	mgr, err = controllerruntime.NewManager(config, manager.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	Expect(err).NotTo(HaveOccurred())

	sim, err = linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	stopManager = stop
	indexNodeClaims(ctx)
	indexNodes(ctx)
	Expect(nodeclass.NewController(mgr.GetClient(), recorded, nodeclass.Config{
		Cluster:  func(context.Context) status.Cluster { return currentCluster() },
		Lookup:   nodeclass.NewLookup(newClient(), time.Hour),
		Interval: 500 * time.Millisecond,
	}).Register(ctx, mgr)).To(Succeed())
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "tags", Region: "us-ord", Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
	Expect(err).NotTo(HaveOccurred())
	backend, err := lke.New(newClient(), lke.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier})
	Expect(err).NotTo(HaveOccurred())
	tagPools, err = lkepool.New(backend, lkepool.Config{})
	Expect(err).NotTo(HaveOccurred())
	Expect(tagging.NewController(mgr.GetClient(), tagPools).Register(ctx, mgr)).To(Succeed())
	registerLearning(ctx)
	Expect(newGuard().Register(ctx, mgr)).To(Succeed())
	ended = make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
})

var _ = AfterSuite(func() {
	if stopManager != nil {
		stopManager()
		Eventually(ended).Should(Receive(BeNil()))
	}
	if environment != nil {
		Expect(environment.Stop()).To(Succeed())
	}
})

// newClient talks to the simulator.
func newClient() *linode.Client {
	GinkgoHelper()
	c, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// indexNodeClaims adds the indexes that Karpenter core adds to its manager.
func indexNodeClaims(ctx context.Context) {
	GinkgoHelper()
	for field, value := range map[string]func(*karpv1.NodeClassReference) string{
		"spec.nodeClassRef.group": func(r *karpv1.NodeClassReference) string { return r.Group },
		"spec.nodeClassRef.kind":  func(r *karpv1.NodeClassReference) string { return r.Kind },
		"spec.nodeClassRef.name":  func(r *karpv1.NodeClassReference) string { return r.Name },
	} {
		Expect(mgr.GetFieldIndexer().IndexField(ctx, &karpv1.NodeClaim{}, field, func(o client.Object) []string {
			return []string{value(o.(*karpv1.NodeClaim).Spec.NodeClassRef)}
		})).To(Succeed())
	}
}

// indexNodes adds those by which Nodes and their pods are found.
func indexNodes(ctx context.Context) {
	GinkgoHelper()
	fields := mgr.GetFieldIndexer()
	Expect(fields.IndexField(ctx, &corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	})).To(Succeed())
	Expect(fields.IndexField(ctx, &corev1.Node{}, "spec.providerID", func(o client.Object) []string {
		return []string{o.(*corev1.Node).Spec.ProviderID}
	})).To(Succeed())
	Expect(fields.IndexField(ctx, &karpv1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
		return []string{o.(*karpv1.NodeClaim).Status.ProviderID}
	})).To(Succeed())
}

func setCluster(tier, version string) {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	cluster = status.Cluster{Mode: v1alpha1.ModeLKE, Tier: tier, Region: "us-ord", ControlPlaneVersion: version}
}

func currentCluster() status.Cluster {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	return cluster
}

// recorder keeps events, those that core's recorder would drop as repetitions included.
type recorder struct {
	mu   sync.Mutex
	seen []events.Event
}

func (r *recorder) Publish(published ...events.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, published...)
}

// of returns "Type Reason: Message" of an object's events, in order.
func (r *recorder) of(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, e := range r.seen {
		if o, ok := e.InvolvedObject.(client.Object); ok && o.GetName() == name {
			texts = append(texts, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
		}
	}
	return slices.Compact(texts)
}

// count is the number of an object's events, repetitions included.
func (r *recorder) count(name, reason string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.seen {
		if o, ok := e.InvolvedObject.(client.Object); ok && o.GetName() == name && e.Reason == reason {
			n++
		}
	}
	return n
}
