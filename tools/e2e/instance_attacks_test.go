package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// TestInstanceAttacks tries the attacks that docs/threat-model.md lists for a writer of classes and for a node that boots. Each attack
// fails, and the attacked object goes on working.
func TestInstanceAttacks(t *testing.T) {
	t.Parallel()
	values := map[string]any{"settings": map[string]any{"instance": map[string]any{
		"secrets": []any{map[string]any{"namespace": "kube-system", "name": "joining"}},
		"allow":   map[string]any{"images": []any{"linode/ubuntu*", "linode/debian12"}, "authorizedUsers": []any{"me"}},
	}}}
	e := start(t, "attacks", "standard", values, func(o *localcluster.Options) { o.Mode = localcluster.Instance })
	e.scenario(t, "a class that reads Secrets of the cluster, and names what is not allowed", greedyClasses)
	e.scenario(t, "a booting node that wants to be another one", impostor)
}

// greedyClasses: of the Secrets of kube-system a class gets only the listed Secret, and never the Secret with the API token.
func greedyClasses(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	script := "#!/bin/sh\n: ${KARPENTER_KUBELET_ARGS}\n"
	for name, data := range map[string]string{"joining": script, "controllers-password": script} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
			StringData: map[string]string{"data": data, "own": script + "# " + e.SimToken}}
		g.Expect(e.kube.Create(ctx, secret)).To(Succeed())
		t.Cleanup(func() { _ = e.kube.Delete(context.Background(), secret) })
	}
	of := func(secret, key string) string {
		return `{image: linode/debian12, authorizedUsers: [me], bootstrap: {type: custom, userDataSecretRef: {namespace: kube-system, name: ` +
			secret + `, key: ` + key + `}}}`
	}
	token := func(secret, key string) string {
		return `{image: linode/debian12, authorizedUsers: [me], bootstrap: {type: k3s, tokenSecretRef: {namespace: kube-system, name: ` +
			secret + `, key: ` + key + `}}}`
	}
	for _, test := range []struct{ name, spec, reason, word string }{
		{"listed", of("joining", "data"), "", ""},
		{"another Secret", of("controllers-password", "data"), v1alpha1.ReasonForbidden, "settings.instance.secrets"},
		{"the operator's own Secret", of("karpenter", "LINODE_TOKEN"), v1alpha1.ReasonForbidden, "settings.instance.secrets"},
		{"the API token in a listed Secret", of("joining", "own"), v1alpha1.ReasonForbidden, "API token"},
		{"a bootstrap token", of("bootstrap-token-abcdef", "token-secret"), v1alpha1.ReasonForbidden, "a bootstrap token"},
		{"another Secret as token", token("controllers-password", "data"), v1alpha1.ReasonForbidden, "spec.bootstrap.tokenSecretRef"},
		{"the operator's own Secret as token", token("karpenter", "LINODE_TOKEN"), v1alpha1.ReasonForbidden, "settings.instance.secrets"},
		{"a bootstrap token as token", token("bootstrap-token-abcdef", "token-secret"), v1alpha1.ReasonForbidden, "a bootstrap token"},
		{"an image", "{image: linode/debian11, authorizedUsers: [me]}", v1alpha1.ReasonNotAllowed, "linode/debian12"},
		{"a login", "{image: linode/debian12, authorizedUsers: [mallory]}", v1alpha1.ReasonNotAllowed, "spec.authorizedUsers[0]"},
	} {
		e.apply(t, class(test.spec))
		g.Eventually(ctx, func(g Gomega) {
			found := &v1alpha1.LinodeNodeClass{}
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, found)).To(Succeed())
			condition := found.StatusConditions().Get(v1alpha1.ConditionBootstrapReady)
			g.Expect(condition).NotTo(BeNil())
			g.Expect(condition.ObservedGeneration).To(Equal(found.Generation))
			g.Expect(condition.IsTrue()).To(Equal(test.reason == ""), "%s: %s", test.name, condition.Message)
			if test.reason != "" {
				g.Expect(condition.Reason).To(Equal(test.reason), test.name)
			}
			g.Expect(condition.Message).To(ContainSubstring(test.word), test.name)
			g.Expect(condition.Message).NotTo(ContainSubstring(e.SimToken))
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed(), test.name)
	}
}

// impostor holds the bootstrap token of a node that has not joined. It gets the certificate of that node and of no other, and with that
// one it cannot take the place of another NodeClaim's node.
func impostor(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	e.nodePool(t, nodePoolSpec{class: `{image: linode/debian12, authorizedUsers: [me], bootstrap: {preJoinCommands: ["sleep 5", "false"]}}`})
	e.apply(t, deployment("late", 2, apart("late")))
	var claims []karpv1.NodeClaim
	g.Eventually(ctx, func(g Gomega) {
		claims = e.nodeClaims(ctx, g)
		g.Expect(claims).To(HaveLen(2))
		for i := range claims {
			g.Expect(launched(&claims[i])).To(BeTrue())
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	own, victim := claims[0], claims[1]
	secret := &corev1.Secret{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: bootstraptoken.SecretName(own.UID)}, secret)).To(Succeed())
	config, err := e.RESTConfig()
	g.Expect(err).NotTo(HaveOccurred())
	joining := e.as(t, &rest.Config{Host: config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData},
		BearerToken: string(secret.Data["token-id"]) + "." + string(secret.Data["token-secret"])})

	var others []*certificatesv1.CertificateSigningRequest
	for _, name := range []string{e.Name + "-" + victim.Name, "control-plane-1"} {
		csr, _ := requested(t, joining, name)
		others = append(others, csr)
	}
	csr, key := requested(t, joining, e.Name+"-"+own.Name)
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(csr), csr)).To(Succeed())
		g.Expect(csr.Status.Certificate).NotTo(BeEmpty())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed(), "its own certificate")
	e.event(t, "CertificateSigningRequest", others[0].Name, certificates.EventClientNotApproved, victim.Name)
	e.event(t, "CertificateSigningRequest", others[1].Name, certificates.EventClientNotApproved, "control-plane-1") // after half a minute
	for _, other := range others {
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
		g.Expect(other.Status.Conditions).To(BeEmpty(), "the request for %s", other.Name)
	}

	kubelet := e.as(t, &rest.Config{Host: config.Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData, CertData: csr.Status.Certificate, KeyData: key}})
	node := func(claim karpv1.NodeClaim, providerID string) *corev1.Node {
		made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: e.Name + "-" + claim.Name},
			Spec: corev1.NodeSpec{ProviderID: providerID, Taints: []corev1.Taint{karpv1.UnregisteredNoExecuteTaint}}}
		t.Cleanup(func() { _ = e.kube.Delete(context.Background(), made) })
		return made
	}
	g.Expect(kubelet.Create(ctx, node(victim, victim.Status.ProviderID))).NotTo(Succeed(), "another node's name")
	fake := node(own, victim.Status.ProviderID)
	g.Expect(kubelet.Create(ctx, fake)).To(Succeed())
	e.event(t, "NodeClaim", victim.Name, karpentercore.EventNodeRefused, fake.Name)
	registered := func() (bool, error) {
		err := e.kube.Get(ctx, client.ObjectKeyFromObject(&victim), &victim)
		return victim.StatusConditions().Get(karpv1.ConditionTypeRegistered).IsTrue(), err
	}
	g.Consistently(ctx, registered).WithTimeout(5 * time.Second).WithPolling(interval).Should(BeFalse())
	g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(fake), fake)).To(Succeed())
	g.Expect(fake.Spec.Taints).To(ContainElement(HaveField("Key", karpv1.UnregisteredTaintKey)))
	g.Expect(fake.Labels).NotTo(HaveKey(karpv1.NodePoolLabelKey))

	g.Expect(e.kube.Create(ctx, node(victim, victim.Status.ProviderID))).To(Succeed())
	g.Eventually(ctx, registered).WithTimeout(patience).WithPolling(interval).Should(BeTrue(), "the NodeClaim's own node is registered")
	g.Expect(victim.Status.NodeName).To(Equal(e.Name + "-" + victim.Name))
}

// as is a client with other credentials.
func (e *environment) as(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	kube, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

// requested makes a request for the client certificate of a node, and returns the private key in PEM.
func requested(t *testing.T, by client.Client, node string) (*certificatesv1.CertificateSigningRequest, []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}}, private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	if err := by.Create(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
	return csr, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
}
