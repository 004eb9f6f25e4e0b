package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

const (
	// nodeUser begins the user name of a node.
	nodeUser = "system:node:"
	// nodeGroup is the group of all nodes.
	nodeGroup = "system:nodes"
)

// read returns the certificate request in a CSR, or the reason why no kubelet would send it. A kubelet requests the given usage, and its
// subject is a node user in the group of nodes, and nothing else.
func read(csr *certificatesv1.CertificateSigningRequest, usage certificatesv1.KeyUsage) (*x509.CertificateRequest, string) {
	// Only an RSA key can encipher another key.
	least := sets.New(certificatesv1.UsageDigitalSignature, usage)
	if got := sets.New(csr.Spec.Usages...); !got.Equal(least) && !got.Equal(least.Clone().Insert(certificatesv1.UsageKeyEncipherment)) {
		return nil, fmt.Sprintf("its usages are %q; such a certificate has digital signature, %s and, for an RSA key, key encipherment",
			csr.Spec.Usages, usage)
	}
	block, rest := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, "spec.request is not one certificate request in PEM"
	}
	wanted, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || wanted.CheckSignature() != nil {
		return nil, "spec.request cannot be read, or its signature is wrong"
	}
	switch {
	case len(wanted.Subject.CommonName) <= len(nodeUser) || !strings.HasPrefix(wanted.Subject.CommonName, nodeUser) ||
		!slices.Equal(wanted.Subject.Organization, []string{nodeGroup}):
		return nil, fmt.Sprintf("its subject is %q; the subject must be %s<name> of %s", wanted.Subject, nodeUser, nodeGroup)
	case len(wanted.EmailAddresses) > 0 || len(wanted.URIs) > 0:
		return nil, "it requests e-mail addresses or URIs"
	}
	return wanted, ""
}

// claimOfNode returns the NodeClaim of this provider whose node has a name, nil if no NodeClaim has the name.
func claimOfNode(ctx context.Context, kube client.Reader, nodeName func(nodeClaim string) string, node string) (*karpv1.NodeClaim, error) {
	all := &karpv1.NodeClaimList{}
	if err := kube.List(ctx, all); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	for i := range all.Items {
		if claim := &all.Items[i]; nodeclaim.Ours(claim.Spec.NodeClassRef) && nodeName(claim.Name) == node {
			return claim, nil
		}
	}
	return nil, nil
}
