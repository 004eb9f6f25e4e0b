// Package controllertest runs the Ginkgo specs of one controller's package. The API server, etcd and the manager are real. The simulator
// stands in for the Linode API, without delays. No kubelet and no other controller runs.
//
// Only tests use it. The package of a controller calls Suite once, in its one test function: the environment is in package variables, so a
// test program has one suite, and its specs run one after another. With -short the suite is skipped. Eventually waits for up to 20
// seconds, Consistently for one.
//
// NewNode, NewPod, NewClaim and Budget make objects. NewPod and NewClaim wait until the cache has the object. Each object is deleted after
// the spec that made it, Nodes with a finalizer too. Recorded keeps every event, and also the repetitions that core's recorder would drop.
package controllertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes/scheme"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

// The objects of a suite, set by Suite.
var (
	Environment *envtest.Environment // the API server
	Manager     manager.Manager
	Kube        client.WithWatch // reads from the API server, so that a test reads its own writes
	Sim         *linodesim.Sim
	Recorded    = &Recorder{}
)

// Suite runs the specs of the package. register adds controllers to Manager before it starts; it may be nil.
func Suite(t *testing.T, description string, register func(context.Context)) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.BeforeSuite(func() { start(register) })
	ginkgo.RunSpecs(t, description)
}

func start(register func(context.Context)) {
	log.SetLogger(zap.New(zap.WriteTo(ginkgo.GinkgoWriter)))
	gomega.SetDefaultEventuallyTimeout(time.Minute)
	gomega.SetDefaultConsistentlyDuration(time.Second)
	var err error
	Environment, err = apiserver.Start(crds.All())
	must(err)
	ginkgo.DeferCleanup(func() { must(Environment.Stop()) })
	Kube, err = client.NewWithWatch(Environment.Config, client.Options{Scheme: scheme.Scheme})
	must(err)
	Manager, err = controllerruntime.NewManager(Environment.Config,
		manager.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	must(err)
	Sim, err = linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	must(karpentercore.Index(ctx, Manager.GetFieldIndexer()))
	if register != nil {
		register(ctx)
	}
	ended := make(chan error, 1)
	go func() { ended <- Manager.Start(ctx) }()
	ginkgo.DeferCleanup(func() {
		stop()
		gomega.Eventually(ended).Should(gomega.Receive(gomega.BeNil()))
	})
}

func must(err error) { gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred()) }

// NewLinode returns a client of the simulator.
func NewLinode() *linode.Client {
	ginkgo.GinkgoHelper()
	c, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: Sim.Transport()})
	must(err)
	return c
}

// Recorder keeps events, including repetitions that core's recorder would drop.
type Recorder struct {
	mu   sync.Mutex
	seen []events.Event
}

// Publish implements core's events.Recorder.
func (r *Recorder) Publish(published ...events.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, published...)
}

// Of returns "Type Reason: Message" for each event of an object, in order, without repetitions in a row.
func (r *Recorder) Of(name string) []string {
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

// Count returns the number of an object's events with a reason, repetitions included.
func (r *Recorder) Count(name, reason string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.seen {
		if o, ok := e.InvolvedObject.(client.Object); ok && o.GetName() == name && e.Reason == reason {
			n++
		}
	}
	return n
}
