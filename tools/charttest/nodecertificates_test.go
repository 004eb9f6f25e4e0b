package charttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

// nodeRequest is a certificate request of a node in PEM.
func nodeRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:demo-a", Organization: []string{"system:nodes"}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// A process with the operator's account approves only requests of its bootstrap tokens, although RBAC allows all requests of the signer.
// No policy can compare the name in the request.
func TestOperatorApprovesNoRequestButThoseOfItsTokens(t *testing.T) {
	b := withDefinitions(t)
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "region": "us-ord", "settings": map[string]any{"clusterName": "demo", "mode": "instance"},
	}, charts.ResetValues)
	ctx := t.Context()
	account := as(t, b.config, theController, "system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
	mighty := b.as(t, theController)
	const kubelets, serving = certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName
	const token, group = "system:bootstrap:aaaaaa", "system:bootstrappers:karpenter"
	asked := func(name, user string, groups []string, signer string, usage certificatesv1.KeyUsage) *certificatesv1.CertificateSigningRequest {
		t.Helper()
		csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer,
				Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
				Request: nodeRequest(t)}}
		accepted(t, "the request "+name, as(t, b.config, user, append(groups, "system:masters", "system:authenticated")...).Create(ctx, csr))
		return csr
	}
	decide := func(
		by client.Client, csr *certificatesv1.CertificateSigningRequest, decision certificatesv1.RequestConditionType, reason string,
		options ...client.SubResourceUpdateOption,
	) error {
		decided := csr.DeepCopy()
		decided.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
			{Type: decision, Status: corev1.ConditionTrue, Reason: reason}}
		return by.SubResource("approval").Update(ctx, decided, options...)
	}
	const words, once = "of certificate requests the operator decides only", "decides on a certificate request once"
	own := asked("own", token, []string{group}, kubelets, certificatesv1.UsageClientAuth)
	mine := asked("mine", "admin", nil, kubelets, certificatesv1.UsageClientAuth)
	enforced(t, b)
	eventually(t, "allowed to approve its own token's request", func() bool {
		return decide(account, own, certificatesv1.CertificateApproved, "KarpenterNode", client.DryRunAll) == nil
	})
	for what, csr := range map[string]*certificatesv1.CertificateSigningRequest{
		"a request by a user": mine,
		"a request by a token of kubeadm's": asked("kubeadm", token, []string{"system:bootstrappers:kubeadm:default-node-token"}, kubelets,
			certificatesv1.UsageClientAuth),
		"a request by the operator itself": asked("itself", theController, []string{group}, kubelets, certificatesv1.UsageClientAuth),
		"a serving certificate": asked("serving", "system:node:demo-a", []string{"system:nodes"}, serving,
			certificatesv1.UsageServerAuth),
		"a user's certificate": asked("user", token, []string{group}, certificatesv1.KubeAPIServerClientSignerName,
			certificatesv1.UsageClientAuth),
	} {
		refused(t, what, decide(mighty, csr, certificatesv1.CertificateApproved, "KarpenterNode"), words)
	}
	refused(t, "a denial", decide(account, own, certificatesv1.CertificateDenied, "KarpenterNode"), once)
	refused(t, "an approval for another reason", decide(account, own, certificatesv1.CertificateApproved, "AutoApproved"), once)
	accepted(t, "its own token's request", decide(account, own, certificatesv1.CertificateApproved, "KarpenterNode"))
	accepted(t, "an administrator's approval", decide(b.as(t, "admin"), mine, certificatesv1.CertificateApproved, "ByHand"))
}
