package e2e_test

import (
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// rotatedAuthority replaces the cluster's CA step by step. A node joins in each step, also when it can know the new CA alone, and the nodes
// of the steps before stay ready.
func rotatedAuthority(t *testing.T, e *environment) {
	const app = "rotating"
	e.withClass(t, "{}", app)
	e.apply(t, deployment(app, 1, apart(app)))
	e.settled(t, app, 1)
	rotation, err := localcluster.RotateAuthority(e.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	next, err := cert.ParseCertsPEM(rotation.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		name    string
		do      func() error
		newCert bool // nodes get certificates of the new CA
	}{
		{"both are trusted", func() error { return rotation.TrustBoth(t.Context()) }, false},
		{"the new one signs", rotation.Switch, true},
		{"the new one alone is published", func() error { return rotation.Finish(t.Context()) }, true},
	} {
		if i == 2 {
			forgotten(t)
		}
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		e.scale(t, app, i+2)
		e.settled(t, app, i+2)
		g := NewWithT(t)
		var newest corev1.Node
		for _, node := range e.karpenterNodes(t.Context(), g) {
			if nodeutils.GetCondition(&node, corev1.NodeReady).Status != corev1.ConditionTrue {
				t.Errorf("%s: node %s is not ready", step.name, node.Name)
			}
			if newest.Name == "" || newest.CreationTimestamp.Before(&node.CreationTimestamp) {
				newest = node
			}
		}
		if signed := e.issuedBy(t, newest.Name, next[0]); signed != step.newCert {
			t.Errorf("%s: the certificate of %s is of the new CA: %t", step.name, newest.Name, signed)
		}
	}
	e.matched(t, 4)
}

// forgotten waits until the operator remembers nothing of cluster-info from before the first step: it remembers for ten seconds
// (clusterinfo). A Linode with the old CA's hash alone never joins once the new CA alone is published.
func forgotten(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(11 * time.Second):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// issuedBy returns whether an authority has signed the client certificate of a node's kubelet.
func (e *environment) issuedBy(t *testing.T, node string, authority *x509.Certificate) bool {
	t.Helper()
	var found *x509.Certificate
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		list := &certificatesv1.CertificateSigningRequestList{}
		g.Expect(e.kube.List(t.Context(), list)).To(Succeed())
		for _, csr := range list.Items {
			if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || len(csr.Status.Certificate) == 0 {
				continue
			}
			chain, err := cert.ParseCertsPEM(csr.Status.Certificate)
			g.Expect(err).NotTo(HaveOccurred())
			if chain[0].Subject.CommonName == "system:node:"+node {
				found = chain[0]
			}
		}
		g.Expect(found).NotTo(BeNil(), "a certificate of %s", node)
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return found.CheckSignatureFrom(authority) == nil
}
