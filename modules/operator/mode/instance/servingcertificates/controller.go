package servingcertificates

import (
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventNotApproved is the reason of the event on a request that is left as it is.
const EventNotApproved = "ServingCertificateNotApproved"

// readAgain is how long an answer of the API about one Linode is used, so that a node cannot cause requests by its own.
const readAgain = time.Minute

// Linode has the names that a certificate may contain.
type Linode struct {
	Label     string
	Addresses []string // with or without the length of a prefix
}

// Config configures a Controller. All of it is required.
type Config struct {
	// NodeName is the name of a NodeClaim's node.
	NodeName func(nodeClaim string) string
	// Known returns a Linode as it was last read for another purpose, false if it was not.
	Known func(instanceID int) (Linode, bool)
	// Linode reads a Linode from the API. An error whose kind is NotFound or Conflict means that it is not one of this cluster.
	Linode func(ctx context.Context, instanceID int) (Linode, error)
	// Addresses reads all addresses of a Linode, including addresses in VPCs.
	Addresses func(ctx context.Context, instanceID int) ([]string, error)
}

type judge struct {
	kube client.Client
	cfg  Config
	read *cache.Expiring // by ID: Linode
}

// NewController returns the controller.
func NewController(kube client.Client, recorder events.Recorder, cfg Config) *certificates.Controller {
	j := &judge{kube: kube, cfg: cfg, read: cache.NewExpiring()}
	return certificates.NewController(kube, recorder, certificates.Config{
		Name: "certificatesigningrequest.servingcertificates", Signer: certificatesv1.KubeletServingSignerName,
		Kind: "serving certificate", Event: EventNotApproved, Judge: j.judge,
		Approved: "the node of a NodeClaim requests it, with the name and the addresses of its Linode",
	})
}

func (j *judge) judge(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (reason string, passes bool, err error) {
	asked, reason := read(csr)
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

// fresh judges by what the API has now.
func (j *judge) fresh(ctx context.Context, id int, asked request) (reason string, passes bool, err error) {
	linode, err := j.cfg.Linode(ctx, id)
	switch kind := claims.KindOf(err); {
	case kind == claims.KindNotFound || kind == claims.KindConflict:
		// One reading that does not show a new Linode proves nothing; another's stays another's.
		return fmt.Sprintf("Linode %d of the node %s does not exist, or is not of this cluster", id, asked.node), kind == claims.KindNotFound,
			nil
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

// instance is the Linode of the launched NodeClaim whose node has the name.
func (j *judge) instance(ctx context.Context, node string) (id int, reason string, err error) {
	claim, err := certificates.ClaimOfNode(ctx, j.kube, j.cfg.NodeName, node)
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
