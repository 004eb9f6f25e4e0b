package servingcertificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	nodeUser  = "system:node:"
	nodeGroup = "system:nodes"
)

// request is a request of a node.
type request struct {
	node      string
	addresses []netip.Addr
}

// The sets of usages that the signer takes; a key that is no RSA key enciphers no other.
var usageSets = []sets.Set[certificatesv1.KeyUsage]{
	sets.New(certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth),
	sets.New(certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth),
}

// read returns the request, or why no kubelet would send it.
func read(csr *certificatesv1.CertificateSigningRequest) (request, string) {
	node, is := strings.CutPrefix(csr.Spec.Username, nodeUser)
	switch {
	case !is || node == "" || !slices.Contains(csr.Spec.Groups, nodeGroup):
		return request{}, fmt.Sprintf("%q, who asks, is not a node", csr.Spec.Username)
	case !slices.ContainsFunc(usageSets, sets.New(csr.Spec.Usages...).Equal):
		return request{}, fmt.Sprintf("its usages are %q; those of a serving certificate are digital signature, server auth and, for an RSA "+
			"key, key encipherment", csr.Spec.Usages)
	}
	block, rest := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return request{}, "spec.request is not one certificate request in PEM"
	}
	wanted, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || wanted.CheckSignature() != nil {
		return request{}, "spec.request cannot be read, or its signature is wrong"
	}
	if reason := subject(wanted, csr.Spec.Username, node); reason != "" {
		return request{}, reason
	}
	asked := request{node: node}
	for _, ip := range wanted.IPAddresses {
		address, _ := netip.AddrFromSlice(ip) // the parser lets no other length through
		asked.addresses = append(asked.addresses, address.Unmap())
	}
	return asked, ""
}

// subject returns what in the names of a certificate is not the node's.
func subject(wanted *x509.CertificateRequest, user, node string) string {
	switch {
	case wanted.Subject.CommonName != user || !slices.Equal(wanted.Subject.Organization, []string{nodeGroup}):
		return fmt.Sprintf("its subject is %q; the subject must be %s of %s", wanted.Subject, user, nodeGroup)
	case len(wanted.EmailAddresses) > 0 || len(wanted.URIs) > 0:
		return "it asks for e-mail addresses or URIs"
	case !slices.Equal(wanted.DNSNames, []string{node}):
		return fmt.Sprintf("it asks for the DNS names %q; the node's is %s", wanted.DNSNames, node)
	case len(wanted.IPAddresses) == 0:
		return "it asks for no IP address"
	}
	return ""
}

// foreign are the addresses that are not among a Linode's, which may have a prefix length.
func (r request) foreign(linode []string) []netip.Addr {
	var own []netip.Addr
	for _, text := range linode {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			own = append(own, prefix.Addr().Unmap())
		} else if address, err := netip.ParseAddr(text); err == nil {
			own = append(own, address.Unmap())
		}
	}
	return slices.DeleteFunc(slices.Clone(r.addresses), func(a netip.Addr) bool { return slices.Contains(own, a) })
}
