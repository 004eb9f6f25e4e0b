package certificates

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventServingNotApproved is the reason of the event on a request that stays undecided.
const EventServingNotApproved = "ServingCertificateNotApproved"

// readAgain is how long an answer of the API about one Linode is used. It bounds the requests to the API that a node can cause.
const readAgain = time.Minute

// Linode has the names that a certificate may contain.
type Linode struct {
	Label     string
	Addresses []string // with or without the length of a prefix
}

// Serving configures the approver of serving certificates. All fields are required.
type Serving struct {
	// NodeName returns the name of a NodeClaim's node.
	NodeName func(nodeClaim string) string
	// Known returns a Linode from an earlier reading for another purpose. It returns false if no reading has shown the Linode.
	Known func(instanceID int) (Linode, bool)
	// Linode reads a Linode from the API. An error of the kind NotFound or Conflict means that the Linode does not belong to this
	// cluster.
	Linode func(ctx context.Context, instanceID int) (Linode, error)
	// Addresses reads all addresses of a Linode, including addresses in VPCs.
	Addresses func(ctx context.Context, instanceID int) ([]string, error)
}

type servingJudge struct {
	kube client.Client
	cfg  Serving
	read *cache.Expiring // by ID: Linode
}

// NewServing returns the approver of serving certificates.
func NewServing(kube client.Client, recorder events.Recorder, cfg Serving) *Controller {
	j := &servingJudge{kube: kube, cfg: cfg, read: cache.NewExpiring()}
	return newController(kube, recorder, kind{
		controller: "certificatesigningrequest.servingcertificates", signer: certificatesv1.KubeletServingSignerName,
		name: "serving certificate", event: EventServingNotApproved, judge: j.judge,
		approved: "the node of a NodeClaim requests it, with the name and the addresses of its Linode",
	})
}

func (j *servingJudge) judge(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (reason string, passes bool, err error) {
	asked, reason := readServing(csr)
	if reason != "" {
		return reason, false, nil
	}
	id, reason, err := j.instance(ctx, asked.node)
	if err != nil || reason != "" {
		return reason, true, err
	}
	if known, ok := j.cfg.Known(id); ok && asked.against(id, known) == "" {
		return "", false, nil
	}
	if remembered, ok := j.read.Get(id); ok {
		return asked.against(id, remembered.(Linode)), true, nil //nolint:forcetypeassert // nothing else is in it
	}
	return j.fresh(ctx, id, asked)
}

// fresh judges a request by the Linode's present addresses in the API.
func (j *servingJudge) fresh(ctx context.Context, id int, asked names) (reason string, passes bool, err error) {
	linode, err := j.cfg.Linode(ctx, id)
	switch kind := claims.KindOf(err); {
	case kind == claims.KindNotFound || kind == claims.KindConflict:
		// One reading that does not show a new Linode proves nothing. A Linode of another cluster stays one.
		return fmt.Sprintf("Linode %d of the node %s does not exist, or does not belong to this cluster", id, asked.node),
			kind == claims.KindNotFound, nil
	case err != nil:
		return "", false, fmt.Errorf("reading Linode %d, which requests a serving certificate: %w", id, err)
	}
	if linode.Label == asked.node && len(asked.foreign(linode.Addresses)) > 0 {
		all, err := j.cfg.Addresses(ctx, id)
		if err != nil {
			return "", false, fmt.Errorf("reading the addresses of Linode %d, which requests a serving certificate: %w", id, err)
		}
		linode.Addresses = slices.Concat(all, linode.Addresses)
	}
	j.read.Set(id, linode, readAgain)
	return asked.against(id, linode), false, nil
}

// instance returns the Linode of the launched NodeClaim whose node has the name.
func (j *servingJudge) instance(ctx context.Context, node string) (id int, reason string, err error) {
	claim, err := claimOfNode(ctx, j.kube, j.cfg.NodeName, node)
	if err != nil {
		return 0, "", err
	}
	if claim == nil {
		return 0, fmt.Sprintf("no NodeClaim has the node %s", node), nil
	}
	id, err = nodeclaim.InstanceID(claim.Status.ProviderID)
	switch {
	case !claim.DeletionTimestamp.IsZero():
		return 0, fmt.Sprintf("NodeClaim %s of the node %s is being deleted", claim.Name, node), nil
	case err != nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched):
		return 0, fmt.Sprintf("NodeClaim %s of the node %s is not launched", claim.Name, node), nil //nolint:nilerr // it has no Linode yet
	}
	return id, "", nil
}

// names are the DNS names and addresses that a node requests.
type names struct {
	node      string
	addresses []netip.Addr
}

// readServing returns the names in a request, or the reason why no kubelet would send the request.
func readServing(csr *certificatesv1.CertificateSigningRequest) (names, string) {
	node, is := strings.CutPrefix(csr.Spec.Username, nodeUser)
	if !is || node == "" || !slices.Contains(csr.Spec.Groups, nodeGroup) {
		return names{}, fmt.Sprintf("the sender %q is not a node", csr.Spec.Username)
	}
	wanted, reason := read(csr, certificatesv1.UsageServerAuth)
	switch {
	case reason != "":
		return names{}, reason
	case wanted.Subject.CommonName != csr.Spec.Username:
		return names{}, fmt.Sprintf("its subject is %q; the subject must be %s of %s", wanted.Subject, csr.Spec.Username,
			nodeGroup)
	case !slices.Equal(wanted.DNSNames, []string{node}):
		return names{}, fmt.Sprintf("it requests the DNS names %q; the node's is %s", wanted.DNSNames, node)
	case len(wanted.IPAddresses) == 0:
		return names{}, "it requests no IP address"
	}
	asked := names{node: node}
	for _, ip := range wanted.IPAddresses {
		address, _ := netip.AddrFromSlice(ip) // the parser lets no other length through
		asked.addresses = append(asked.addresses, address.Unmap())
	}
	return asked, ""
}

// against returns which of the names does not belong to the Linode, "" if all do.
func (r names) against(id int, linode Linode) string {
	if linode.Label != r.node {
		return fmt.Sprintf("Linode %d has the label %q; the sending node is %s", id, linode.Label, r.node)
	}
	if foreign := r.foreign(linode.Addresses); len(foreign) > 0 {
		return fmt.Sprintf("%s is not an address of Linode %d", foreign[0], id)
	}
	return ""
}

// foreign returns the requested addresses that the Linode does not have. The Linode's addresses may have a prefix length.
func (r names) foreign(linode []string) []netip.Addr {
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
