package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
)

var _ = Describe("The controller in instance mode", func() {
	It("makes a Linode whose user data joins the cluster, and takes its token back", func(ctx context.Context) {
		sim, url := simulator(GinkgoTB(), map[string][]string{secret: {"linodes:read_write", "images:read_only"}})
		posts := recordPosts(GinkgoTB(), url)
		hash := publishClusterInfo(ctx, "10.1.2.3:6443")
		p := start(ctx, posts.url, "KARPENTER_MODE=instance", "CLUSTER_REGION=us-ord", "CLUSTER_NAME=own")
		DeferCleanup(p.stop)

		class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "own"},
			Spec: v1alpha1.LinodeNodeClassSpec{Tags: []string{"team=a"},
				Bootstrap: &v1alpha1.Bootstrap{PreJoinCommands: []string{"apt-get install --yes kubeadm"}}}}
		pool := newNodePool("own", class.Name)
		pool.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "example.com/starting", Effect: corev1.TaintEffectNoSchedule}}
		pod := newPod("own")
		for _, object := range []client.Object{class, pool, pod} {
			Expect(kube.Create(ctx, object)).To(Succeed())
		}
		markUnschedulable(ctx, pod)

		claim := p.launched(ctx, pool)
		made := sim.Snapshot().Instances
		Expect(made).To(HaveLen(1))
		Expect(claim.Status.ProviderID).To(Equal(fmt.Sprintf("linode://%d", made[0].ID)))
		Expect(made[0].Label).To(Equal("own-" + claim.Name))
		Expect(made[0].Tags).To(ContainElements("karpenter.sh/nodeclaim="+claim.Name, "karpenter.sh/nodepool=own", "team=a",
			"kubernetes.io/cluster/own=owned"))
		Expect(made[0].Tags).NotTo(ContainElement(ContainSubstring("lke")))

		token := &corev1.Secret{}
		key := types.NamespacedName{Namespace: "kube-system", Name: bootstraptoken.SecretName(claim.UID)}
		Expect(kube.Get(ctx, key, token)).To(Succeed())
		text := string(token.Data["token-id"]) + "." + string(token.Data["token-secret"])
		data := posts.userData()
		Expect(data).To(And(HavePrefix("#cloud-config\n"), ContainSubstring(text), ContainSubstring("10.1.2.3:6443"), ContainSubstring(hash),
			ContainSubstring("karpenter.sh/unregistered"), ContainSubstring("example.com/starting"), ContainSubstring("own-"+claim.Name),
			ContainSubstring("team=a"), ContainSubstring("karpenter.sh/nodepool=own"), ContainSubstring("cloud-provider")))

		claim.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
		Expect(kube.Status().Update(ctx, claim)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(kube.Get(ctx, key, token)) }).Should(BeTrue(), p.output)

		Expect(kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(client.IgnoreNotFound(kube.Delete(ctx, claim))).To(Succeed())
		Eventually(func() int { return len(sim.Snapshot().Instances) }).Should(BeZero(), p.output)
		Expect(kube.Delete(ctx, pool)).To(Succeed())
		Expect(kube.Delete(ctx, class)).To(Succeed())
		Eventually(func() error { return kube.Get(ctx, client.ObjectKeyFromObject(class), class) }).ShouldNot(Succeed(), p.output)
		p.stop()
		Expect(p.output()).NotTo(Or(ContainSubstring(secret), ContainSubstring(strings.SplitN(text, ".", 2)[1])))
		Expect(sim.Unknown()).To(BeEmpty())
	})
})

// publishClusterInfo does what kubeadm does, and returns the hash of the CA.
func publishClusterInfo(ctx context.Context, endpoint string) (hash string) {
	GinkgoHelper()
	ca := environment.Config.CAData
	block, _ := pem.Decode(ca)
	certificate, err := x509.ParseCertificate(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: "https://" + endpoint, CertificateAuthorityData: ca}
	text, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	Expect(client.IgnoreAlreadyExists(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}}))).To(Succeed())
	info := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "cluster-info"},
		Data: map[string]string{"kubeconfig": string(text)}}
	Expect(kube.Create(ctx, info)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, info)).To(Succeed()) })
	return "sha256:" + hex.EncodeToString(sum[:])
}

// posts are the requests for Linodes that a proxy before the simulator has seen.
type posts struct {
	url string

	mu   sync.Mutex
	data []string
}

func recordPosts(t testing.TB, simulator string) *posts {
	seen := &posts{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/linode/instances") {
			seen.add(body)
		}
		onward, err := http.NewRequestWithContext(r.Context(), r.Method, simulator+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		onward.Header = r.Header
		answer, err := http.DefaultTransport.RoundTrip(onward)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(server.Close)
	seen.url = server.URL
	return seen
}

func (p *posts) add(body []byte) {
	var request struct {
		Metadata struct {
			UserData string `json:"user_data"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(body, &request)
	text, _ := base64.StdEncoding.DecodeString(request.Metadata.UserData)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = append(p.data, string(text))
}

// userData returns the user data of the only requested Linode.
func (p *posts) userData() string {
	GinkgoHelper()
	p.mu.Lock()
	defer p.mu.Unlock()
	Expect(p.data).To(HaveLen(1))
	return p.data[0]
}
