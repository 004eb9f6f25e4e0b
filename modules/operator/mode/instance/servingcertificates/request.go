package servingcertificates

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
)

// request is a request of a node.
type request struct {
	node      string
	addresses []netip.Addr
}

// read returns the request, or why no kubelet would send it.
func read(csr *certificatesv1.CertificateSigningRequest) (request, string) {
	node, is := strings.CutPrefix(csr.Spec.Username, certificates.NodeUser)
	if !is || node == "" || !slices.Contains(csr.Spec.Groups, certificates.NodeGroup) {
		return request{}, fmt.Sprintf("the sender %q is not a node", csr.Spec.Username)
	}
	wanted, reason := certificates.Read(csr, certificatesv1.UsageServerAuth)
	switch {
	case reason != "":
		return request{}, reason
	case wanted.Subject.CommonName != csr.Spec.Username:
		return request{}, fmt.Sprintf("its subject is %q; the subject must be %s of %s", wanted.Subject, csr.Spec.Username,
			certificates.NodeGroup)
	case !slices.Equal(wanted.DNSNames, []string{node}):
		return request{}, fmt.Sprintf("it requests the DNS names %q; the node's is %s", wanted.DNSNames, node)
	case len(wanted.IPAddresses) == 0:
		return request{}, "it requests no IP address"
	}
	asked := request{node: node}
	for _, ip := range wanted.IPAddresses {
		address, _ := netip.AddrFromSlice(ip) // the parser lets no other length through
		asked.addresses = append(asked.addresses, address.Unmap())
	}
	return asked, ""
}

// against returns what of a request is not the Linode's.
func (r request) against(id int, linode Linode) string {
	if linode.Label != r.node {
		return fmt.Sprintf("Linode %d has the label %q; the sending node is %s", id, linode.Label, r.node)
	}
	if foreign := r.foreign(linode.Addresses); len(foreign) > 0 {
		return fmt.Sprintf("%s is not an address of Linode %d", foreign[0], id)
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
