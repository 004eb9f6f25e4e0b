package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/joining"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
)

// linode is a client for what the owner of the account does.
func (e *environment) linode(t *testing.T) *linode.Client {
	t.Helper()
	c, err := linode.New(linode.Config{Token: linode.StaticToken(e.SimToken), BaseURL: e.SimURL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// linodeByHand makes a Linode that is not Karpenter's, and deletes it at the end of the test.
func (e *environment) linodeByHand(t *testing.T, change func(*api.InstanceCreate)) int {
	t.Helper()
	request := api.InstanceCreate{Type: "g6-nanode-1", Region: "us-ord"}
	change(&request)
	made, err := e.linode(t).CreateInstance(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	e.isTheUsers(t, made.ID)
	return made.ID
}

// isTheUsers keeps a Linode out of the Linodes that a scenario's end waits for, and deletes it after that.
func (e *environment) isTheUsers(t *testing.T, id int) {
	t.Helper()
	for _, i := range e.Sim.Snapshot().Instances {
		if i.ID == id {
			e.before.Instances = append(e.before.Instances, i)
		}
	}
	t.Cleanup(func() {
		if err := e.Sim.DeleteInstance(id); err != nil {
			t.Error(err)
		}
	})
}

// onlyClaim waits until there is one NodeClaim, other than one before it, and its Linode if it is launched.
func (e *environment) onlyClaim(t *testing.T, before *karpv1.NodeClaim, ready func(*karpv1.NodeClaim) bool) *karpv1.NodeClaim {
	t.Helper()
	var found *karpv1.NodeClaim
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		claims := e.nodeClaims(ctx, g)
		g.Expect(claims).To(HaveLen(1))
		found = &claims[0]
		g.Expect(before == nil || found.UID != before.UID).To(BeTrue(), "NodeClaim %s is another one", found.Name)
		g.Expect(ready(found)).To(BeTrue(), "NodeClaim %s is as expected", found.Name)
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return found
}

func launched(claim *karpv1.NodeClaim) bool {
	return claim.StatusConditions().Get(karpv1.ConditionTypeLaunched).IsTrue() &&
		claim.StatusConditions().Get(karpv1.ConditionTypeRegistered) != nil
}

// faulty waits until the boot of a Linode has failed and its console has the words, and returns it.
func (e *environment) faulty(t *testing.T, id int, words ...string) linodesim.Instance {
	t.Helper()
	var found linodesim.Instance
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		all := e.Sim.Snapshot().Instances
		at := slices.IndexFunc(all, func(i linodesim.Instance) bool { return i.ID == id })
		g.Expect(at).To(BeNumerically(">=", 0), "Linode %d exists", id)
		found = all[at]
		g.Expect(found.BootFault).NotTo(BeEmpty(), "Linode %d has not booted; its console has\n%s", id, found.Console)
		for _, word := range words {
			g.Expect(found.Console).To(ContainSubstring(word), "console of Linode %d", id)
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return found
}

// overdue makes a NodeClaim wait for its node for longer than core does.
func (e *environment) overdue(t *testing.T, name string) {
	t.Helper()
	e.aged(t, name, 2*joining.GivenUpAfter)
}

// aged lets a NodeClaim have been launched, and registered or not, for so long. Since when is read from the status.
func (e *environment) aged(t *testing.T, name string, age time.Duration) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		claim := &karpv1.NodeClaim{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: name}, claim)).To(Succeed())
		patch := client.MergeFromWithOptions(claim.DeepCopy(), client.MergeFromWithOptimisticLock{})
		for i := range claim.Status.Conditions {
			if slices.Contains([]string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered}, claim.Status.Conditions[i].Type) {
				claim.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-age))
			}
		}
		g.Expect(e.account(t).Status().Patch(ctx, claim, patch)).To(Succeed())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// withClass applies the class default, the NodePool and a Deployment of one pod.
func (e *environment) withClass(t *testing.T, spec, app string) {
	t.Helper()
	e.nodePool(t, nodePoolSpec{class: spec})
	e.apply(t, deployment(app, 1, ""))
}

func linodeID(t *testing.T, claim *karpv1.NodeClaim) int {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimPrefix(claim.Status.ProviderID, v1alpha1.ProviderIDPrefix))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// asOwner makes an object of the account for which Karpenter's client has no method.
func asOwner[T any](t *testing.T, e *environment, path string, request any) (made T) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	e.post(t, path, string(body), &made)
	return made
}

// vpc makes a VPC with a subnet.
func (e *environment) vpc(t *testing.T, label string) (id, subnet int) {
	t.Helper()
	made := asOwner[api.VPC](t, e, "/vpcs",
		api.VPCCreate{Label: label, Region: "us-ord", Subnets: &[]api.VPCSubnetCreate{{Label: "nodes", IPv4: "10.0.0.0/24"}}})
	return made.ID, made.Subnets[0].ID
}

// noise is a text that gzip does not make much smaller.
func noise(seed uint64, length int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	draw, text := mathrand.New(mathrand.NewPCG(seed, 1)), make([]byte, length) //nolint:gosec // nothing secret
	for i := range text {
		text[i] = letters[draw.IntN(len(letters))]
	}
	return string(text)
}

// servingCertificate waits until the kubelet of a node serves a certificate that the cluster has signed. A request of the same node
// for another name stays undecided.
func (e *environment) servingCertificate(t *testing.T, name string) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	config, err := e.RESTConfig()
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(config.CAData)).To(BeTrue())
	node := &corev1.Node{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	var served *x509.Certificate
	g.Eventually(ctx, func(g Gomega) {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)))
		connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}).DialContext(ctx,
			"tcp", address)
		g.Expect(err).NotTo(HaveOccurred())
		served = connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
		g.Expect(connection.Close()).To(Succeed())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed(), "the kubelet of %s serves a certificate of the cluster", name)
	for _, address := range node.Status.Addresses {
		g.Expect(served.VerifyHostname(address.Address)).To(Succeed())
	}
	foreign := e.requestAs(t, name, "kubernetes.default.svc")
	e.event(t, "CertificateSigningRequest", foreign, certificates.EventServingNotApproved, "kubernetes.default.svc")
	csr := &certificatesv1.CertificateSigningRequest{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: foreign}, csr)).To(Succeed())
	g.Expect(csr.Status.Conditions).To(BeEmpty())
}

// requestAs is a node's request for a serving certificate of a name.
func (e *environment) requestAs(t *testing.T, node, name string) string {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	config, err := e.RESTConfig()
	g.Expect(err).NotTo(HaveOccurred())
	user := "system:node:" + node
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:nodes", "system:authenticated"}}
	kubelet, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user, Organization: []string{"system:nodes"}}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(10, 96, 0, 1)},
	}, key)
	g.Expect(err).NotTo(HaveOccurred())
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "foreign"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}
	g.Expect(kubelet.Create(ctx, csr)).To(Succeed())
	return csr.Name
}
