package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

var (
	environment *envtest.Environment
	kube        client.Client
	kubeconfig  string
)

func TestController(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "The controller as a process")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	var err error
	environment, err = apiserver.Start(crds.All())
	Expect(err).NotTo(HaveOccurred())
	kube, err = client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	Expect(err).NotTo(HaveOccurred())
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, environment.KubeConfig, 0o600)).To(Succeed())
})

var _ = AfterSuite(func() {
	if environment != nil {
		Expect(environment.Stop()).To(Succeed())
	}
})

var _ = Describe("The controller", func() {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		It("gets a Linode for a pod that does not fit, and gives it back: "+tier, func(ctx context.Context) {
			sim, url := simulator(GinkgoTB(), map[string][]string{secret: {"lke:read_write", "linodes:read_write"}},
				linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Tier: tier, Settled: true,
					Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
			before := linodesOf(sim)
			p := start(ctx, url)
			DeferCleanup(p.stop)

			class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default-" + tier},
				Spec: v1alpha1.LinodeNodeClassSpec{Tags: []string{"team=a"}}}
			pool := newNodePool("pool-"+tier, class.Name)
			pod := newPod("pod-" + tier)
			Expect(kube.Create(ctx, class)).To(Succeed())
			Expect(kube.Create(ctx, pool)).To(Succeed())
			Expect(kube.Create(ctx, pod)).To(Succeed())
			markUnschedulable(ctx, pod)

			claim := p.launched(ctx, pool)
			added := linodesOf(sim)[len(before):]
			Expect(added).To(HaveLen(1))
			Expect(claim.Status.ProviderID).To(Equal(fmt.Sprintf("linode://%d", added[0].id)))
			Expect(added[0].tags).To(ContainElements("karpenter.sh/nodeclaim="+claim.Name, "karpenter.sh/nodepool="+pool.Name,
				"team=a", "lke-cluster-name=demo", "kubernetes.io/cluster/demo=owned"))
			Expect(claim.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, "us-ord"))

			Expect(p.get("/metrics")).To(And(
				ContainSubstring(`karpenter_linode_api_requests_total{method="GET",route="/lke/clusters",status="200"}`),
				MatchRegexp(`karpenter_linode_claims_total\{nodepool="[a-z-]+",outcome="claimed"\}`),
				ContainSubstring("karpenter_cloudprovider_instance_type_offering_price_estimate"),
				ContainSubstring(`karpenter_cloudprovider_instance_type_memory_bytes{instance_type="g6-standard-1"} 2.075951104e+09`),
				ContainSubstring(`karpenter_linode_pool_actions_total{action="tag instance",result="ok"}`),
				MatchRegexp(`karpenter_linode_pool_nodes_requested_total\{instance_type="g6-[a-z]+-[0-9]+"\} 1`),
				ContainSubstring(`karpenter_linode_catalog_refreshes_total{result="ok"} 1`),
				Not(ContainSubstring(secret))))

			Expect(kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
			Expect(kube.Delete(ctx, claim)).To(Succeed())
			Eventually(func() []taggedLinode { return linodesOf(sim) }).Should(HaveLen(len(before)), p.output)
			Expect(linodesOf(sim)).To(Equal(before))
			Eventually(func(g Gomega) {
				list := &karpv1.NodeClaimList{}
				g.Expect(kube.List(ctx, list)).To(Succeed())
				g.Expect(list.Items).To(BeEmpty())
			}).Should(Succeed(), p.output)
			Expect(kube.Delete(ctx, pool)).To(Succeed())
			Expect(kube.Delete(ctx, class)).To(Succeed())
			Eventually(func() error { return kube.Get(ctx, client.ObjectKeyFromObject(class), class) }).ShouldNot(Succeed(), p.output)

			p.stop()
			Expect(p.output()).NotTo(ContainSubstring(secret))
			Expect(p.output()).NotTo(Or(ContainSubstring("Starting Controller"), ContainSubstring("Starting workers"),
				ContainSubstring("Starting EventSource")))
			expectStart(p.output(), `"discovered the LKE cluster",`, `"cluster":"demo","id":`, `"tier":"`+tier+`"`, `"region":"us-ord"`,
				`"version":"`,
				`"scopes":"lke:read_write linodes:read_write"`, `"NodePools found",`)
			Expect(sim.Unknown()).To(BeEmpty())
		})
	}

	It("names the program that has the command plans", func(ctx context.Context) {
		output, err := controller(ctx, GinkgoTB(), []string{"plans", "--nodepool", "choosy"}).CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(output)).To(Equal(
			"karpenter-linode: command line: plans is a command of another program; run karpenter-linode plans\n"))
	})

	It("waits for the API in an outage at its start, not ready with the reason, and serves when the API answers", func(ctx context.Context) {
		sim, url := simulator(GinkgoTB(), map[string][]string{secret: {"*"}}, cluster("demo"))
		outage := sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusServiceUnavailable, Reason: "down for a while"}})
		p := start(ctx, url)
		DeferCleanup(p.stop)
		Eventually(p.readiness).Should(And(ContainSubstring("503"), ContainSubstring("down for a while")), p.output)
		Expect(p.probe("/healthz")).To(Equal("200 ok"))
		Consistently(p.running).Should(BeTrue(), p.output)
		sim.Heal(outage)
		Eventually(p.ready).Should(Equal(http.StatusOK), p.output)
		Expect(p.stop()).To(Succeed())
	})

	It("ends on SIGTERM while it waits for the API", func(ctx context.Context) {
		p := start(ctx, unserved(GinkgoTB()))
		DeferCleanup(p.stop)
		Eventually(p.readiness).Should(And(HavePrefix("503"), ContainSubstring("connect")), p.output)
		Expect(p.stop()).To(Succeed())
	})

	It("listens where the settings say, and shows profiles on loopback only", func(ctx context.Context) {
		_, url := simulator(GinkgoTB(), map[string][]string{secret: {"*"}}, cluster("demo"))
		p := start(ctx, url, "METRICS_BIND_ADDRESS=127.0.0.2", "HEALTH_PROBE_BIND_ADDRESS=127.0.0.1", "ENABLE_PROFILING=true")
		DeferCleanup(p.stop)
		Eventually(p.ready).Should(Equal(http.StatusOK), p.output)
		_, err := net.Dial("tcp", "127.0.0.1:"+p.metrics)
		Expect(err).To(HaveOccurred())
		_, err = net.Dial("tcp", "127.0.0.2:"+p.health)
		Expect(err).To(HaveOccurred())
		response, err := http.Get("http://127.0.0.2:" + p.metrics + "/debug/pprof/goroutine?debug=1")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(response.Body.Close)
		Expect(response.StatusCode).To(Equal(http.StatusOK))
	})

	It("is ready while the API takes its token, and ends on SIGTERM", func(ctx context.Context) {
		sim, url := simulator(GinkgoTB(), map[string][]string{secret: {"*"}}, cluster("demo"))
		p := start(ctx, url, "INSTANCE_TYPE_REFRESH_INTERVAL=200ms")
		DeferCleanup(p.stop)
		Eventually(p.ready).Should(Equal(http.StatusOK), p.output)
		rule := sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusUnauthorized, Reason: "Invalid Token"}})
		Eventually(p.ready).Should(Equal(http.StatusInternalServerError), p.output)
		sim.Heal(rule)
		Eventually(p.ready).Should(Equal(http.StatusOK), p.output)
		Expect(p.stop()).To(Succeed())
	})
})

var _ = Describe("A cluster without the CRDs", func() {
	It("is named in one line", func(ctx context.Context) {
		bare, err := apiserver.Start(nil)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(bare.Stop)
		path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(os.WriteFile(path, bare.KubeConfig, 0o600)).To(Succeed())
		_, url := simulator(GinkgoTB(), map[string][]string{secret: {"*"}}, cluster("demo"))
		p := start(ctx, url, "KUBECONFIG="+path)
		var ended error
		Eventually(p.ended).Should(Receive(&ended))
		Expect(ended).To(HaveOccurred())
		Expect(p.lastLine()).To(And(HavePrefix("karpenter-linode: KUBECONFIG:"), ContainSubstring("LinodeNodeClass"),
			ContainSubstring("karpenter-crd")), p.output)
	})
})

var _ = Describe("Ports", func() {
	DescribeTable("one in use is named in one line", func(ctx context.Context, setting string) {
		busy, err := net.Listen("tcp", ":0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(busy.Close)
		_, port, err := net.SplitHostPort(busy.Addr().String())
		Expect(err).NotTo(HaveOccurred())
		_, url := simulator(GinkgoTB(), map[string][]string{secret: {"*"}}, cluster("demo"))
		p := start(ctx, url, setting+"="+port)
		var ended error
		Eventually(p.ended).Should(Receive(&ended))
		Expect(ended).To(HaveOccurred())
		Expect(p.lastLine()).To(And(HavePrefix("karpenter-linode: "+setting+":"), ContainSubstring(port)), p.output)
	},
		Entry("health probe", "HEALTH_PROBE_PORT"),
		Entry("metrics", "METRICS_PORT"),
	)
})

// process is a running controller.
type process struct {
	command         *exec.Cmd
	metrics, health string
	ended           chan error
	mu              sync.Mutex
	log             bytes.Buffer
}

func start(ctx context.Context, url string, environment ...string) *process {
	GinkgoHelper()
	p := &process{metrics: freePort(), health: freePort(), ended: make(chan error, 1)}
	p.command = controller(context.WithoutCancel(ctx), GinkgoTB(), nil, append([]string{
		"LINODE_TOKEN=" + secret, "LINODE_URL=" + url, "CLUSTER_NAME=demo", "KUBECONFIG=" + kubeconfig,
		"METRICS_PORT=" + p.metrics, "HEALTH_PROBE_PORT=" + p.health, "DISABLE_LEADER_ELECTION=true",
		"GARBAGE_COLLECTION_INTERVAL=1s", "LKE_RETRY_DELAY=200ms",
	}, environment...)...)
	p.command.Stdout, p.command.Stderr = p, p
	Expect(p.command.Start()).To(Succeed())
	go func() { p.ended <- p.command.Wait() }()
	return p
}

// Write collects what the process prints.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) lastLine() string {
	lines := strings.Split(strings.TrimSpace(p.output()), "\n")
	return lines[len(lines)-1]
}

// launched waits for the NodePool's one NodeClaim and its instance.
func (p *process) launched(ctx context.Context, pool *karpv1.NodePool) *karpv1.NodeClaim {
	claim := &karpv1.NodeClaim{}
	Eventually(func(g Gomega) {
		list := &karpv1.NodeClaimList{}
		g.Expect(kube.List(ctx, list, client.MatchingLabels{karpv1.NodePoolLabelKey: pool.Name})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(1))
		*claim = list.Items[0]
		g.Expect(claim.Status.ProviderID).To(HavePrefix("linode://"))
	}).Should(Succeed(), p.output)
	return claim
}

// stop ends the process as Kubernetes does, and returns how it ended. A second call returns nil.
func (p *process) stop() error {
	if p.command.ProcessState != nil {
		return nil
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("the controller did not end on SIGTERM: %s", p.output())
	}
}

func (p *process) running() bool { return len(p.ended) == 0 }

func (p *process) ready() int {
	var status int
	_, _ = fmt.Sscan(p.readiness(), &status)
	return status
}

func (p *process) readiness() string { return p.probe("/readyz") }

// probe is the status of an answer, and its text.
func (p *process) probe(path string) string {
	response, err := http.Get("http://127.0.0.1:" + p.health + path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}

func (p *process) get(path string) string {
	GinkgoHelper()
	response, err := http.Get("http://127.0.0.1:" + p.metrics + path)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func freePort() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	Expect(err).NotTo(HaveOccurred())
	return port
}

type taggedLinode struct {
	id   int
	tags []string
}

// linodesOf lists the Linodes of all clusters by ID.
func linodesOf(sim *linodesim.Sim) []taggedLinode {
	var list []taggedLinode
	for _, linode := range sim.Snapshot().Instances {
		list = append(list, taggedLinode{linode.ID, linode.Tags})
	}
	slices.SortFunc(list, func(a, b taggedLinode) int { return a.id - b.id })
	return list
}

func newNodePool(name, class string) *karpv1.NodePool {
	return &karpv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: karpv1.NodePoolSpec{Template: karpv1.NodeClaimTemplate{
			ObjectMeta: karpv1.ObjectMeta{Labels: map[string]string{"team": "a"}},
			Spec: karpv1.NodeClaimTemplateSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: class},
				Requirements: []karpv1.NodeSelectorRequirementWithMinValues{
					{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
				},
				ExpireAfter: karpv1.MustParseNillableDuration("720h"),
			},
		}},
	}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "pause", Image: "pause",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
}

// markUnschedulable does what kube-scheduler does, which this API server has not.
func markUnschedulable(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	Expect(kube.Status().Update(ctx, pod)).To(Succeed())
}

// expectStart looks for texts that a user finds in the last twenty lines of the log before the first pod.
func expectStart(output string, texts ...string) {
	GinkgoHelper()
	start, _, found := strings.Cut(output, "found provisionable pod(s)")
	Expect(found).To(BeTrue(), output)
	lines := strings.Split(start, "\n")
	last := strings.Join(lines[max(len(lines)-20, 0):], "\n")
	for _, text := range texts {
		Expect(last).To(ContainSubstring(text))
	}
}
