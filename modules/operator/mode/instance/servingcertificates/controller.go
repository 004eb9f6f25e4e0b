package servingcertificates

import (
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventNotApproved is the reason of the event on a request that is left as it is.
const EventNotApproved = "ServingCertificateNotApproved"

const (
	again = 5 * time.Second // the shortest pause; it grows with the age of the request
	// quiet is how long a reason that time may cure is not reported.
	quiet = 30 * time.Second
	// givenUp is when a kubelet stops waiting for its request and makes another one.
	givenUp = 15 * time.Minute
	// remembered is how long a reported request is kept in mind; Kubernetes deletes a pending one after 24 h.
	remembered = 25 * time.Hour
)

// Linode has the names that a certificate may contain.
type Linode struct {
	Label     string
	Addresses []string // with or without the length of a prefix
}

// Config configures a Controller.
type Config struct {
	// NodeName is the name of a NodeClaim's node.
	NodeName func(nodeClaim string) string
	// Linode reads a Linode from the API. An error whose kind is NotFound or Conflict means that it is not one of this cluster.
	Linode func(ctx context.Context, instanceID int) (Linode, error)
	// Addresses reads all addresses of a Linode, those in VPCs as well.
	Addresses func(ctx context.Context, instanceID int) ([]string, error)
}

// Controller reconciles CertificateSigningRequests.
type Controller struct {
	kube     client.Client
	recorder events.Recorder
	cfg      Config
	reported *cache.Expiring // by UID: the reason
}

// NewController returns a Controller.
func NewController(kube client.Client, recorder events.Recorder, cfg Config) *Controller {
	return &Controller{kube: kube, recorder: recorder, cfg: cfg, reported: cache.NewExpiring()}
}

// Reconcile approves a request, or reports why it does not.
func (c *Controller) Reconcile(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (reconcile.Result, error) {
	if !open(csr) {
		return reconcile.Result{}, nil
	}
	reason, passes, err := c.judge(ctx, csr)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case reason == "":
		return reconcile.Result{}, c.approve(ctx, csr)
	}
	age := time.Since(csr.CreationTimestamp.Time)
	if !passes || age > quiet {
		c.report(ctx, csr, reason)
	}
	if passes && age < givenUp {
		return reconcile.Result{RequeueAfter: max(again, age/4)}, nil
	}
	return reconcile.Result{}, nil
}

// open returns whether a request is for the signer and undecided.
func open(csr *certificatesv1.CertificateSigningRequest) bool {
	return csr.Spec.SignerName == certificatesv1.KubeletServingSignerName && csr.DeletionTimestamp.IsZero() &&
		len(csr.Status.Conditions) == 0 && len(csr.Status.Certificate) == 0
}

// judge returns why a request is not approved, empty if it is, and whether time may cure that.
func (c *Controller) judge(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (reason string, passes bool, err error) {
	asked, reason := read(csr)
	if reason != "" {
		return reason, false, nil
	}
	id, reason, err := c.instance(ctx, asked.node)
	if err != nil || reason != "" {
		return reason, true, err
	}
	linode, err := c.cfg.Linode(ctx, id)
	switch kind := claims.KindOf(err); {
	case kind == claims.KindNotFound || kind == claims.KindConflict:
		// One reading that does not show a new Linode proves nothing; another's stays another's.
		return fmt.Sprintf("Linode %d of the node %s does not exist, or is not of this cluster", id, asked.node), kind == claims.KindNotFound,
			nil
	case err != nil:
		return "", false, fmt.Errorf("reading Linode %d, which asks for a serving certificate: %w", id, err)
	case linode.Label != asked.node:
		return fmt.Sprintf("Linode %d has the label %q; the node that asks is %s", id, linode.Label, asked.node), false, nil
	case len(asked.foreign(linode.Addresses)) == 0:
		return "", false, nil
	}
	all, err := c.cfg.Addresses(ctx, id)
	if err != nil {
		return "", false, fmt.Errorf("reading the addresses of Linode %d, which asks for a serving certificate: %w", id, err)
	}
	if foreign := asked.foreign(append(all, linode.Addresses...)); len(foreign) > 0 {
		return fmt.Sprintf("%s is not an address of Linode %d", foreign[0], id), false, nil
	}
	return "", false, nil
}

// instance is the Linode of the launched NodeClaim whose node has the name.
func (c *Controller) instance(ctx context.Context, node string) (id int, reason string, err error) {
	claims := &karpv1.NodeClaimList{}
	if err := c.kube.List(ctx, claims); err != nil {
		return 0, "", fmt.Errorf("listing NodeClaims: %w", err)
	}
	i := slices.IndexFunc(claims.Items, func(claim karpv1.NodeClaim) bool {
		return nodeclaim.Ours(claim.Spec.NodeClassRef) && c.cfg.NodeName(claim.Name) == node
	})
	if i < 0 {
		return 0, fmt.Sprintf("no NodeClaim has the node %s", node), nil
	}
	claim := &claims.Items[i]
	id, err = nodeclaim.InstanceID(claim.Status.ProviderID)
	switch {
	case !claim.DeletionTimestamp.IsZero():
		return 0, fmt.Sprintf("NodeClaim %s of the node %s is being deleted", claim.Name, node), nil
	case err != nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched):
		return 0, fmt.Sprintf("NodeClaim %s of the node %s is not launched", claim.Name, node), nil //nolint:nilerr // it has no Linode yet
	}
	return id, "", nil
}

// approve decides on the request as it was read: one that changed meanwhile is refused by the API server and read again.
func (c *Controller) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	decided := csr.DeepCopy()
	decided.Status.Conditions = append(decided.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "KarpenterNode",
		Message:        "the node of a NodeClaim asks, with the name and the addresses of its Linode",
		LastUpdateTime: metav1.Now(),
	})
	if err := c.kube.SubResource("approval").Update(ctx, decided); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("approving CertificateSigningRequest %s: %w", csr.Name, err))
	}
	log.FromContext(ctx).Info("approved a serving certificate", "CertificateSigningRequest", csr.Name, "requester", csr.Spec.Username)
	return nil
}

func (c *Controller) report(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, reason string) {
	if last, seen := c.reported.Get(csr.UID); seen && last == reason {
		return
	}
	c.reported.Set(csr.UID, reason, remembered)
	log.FromContext(ctx).Info("left a request for a serving certificate undecided", "CertificateSigningRequest", csr.Name, "requester",
		csr.Spec.Username, "reason", reason)
	c.recorder.Publish(events.Event{
		InvolvedObject: csr, Type: corev1.EventTypeNormal, Reason: EventNotApproved,
		Message:      "Karpenter leaves this request undecided: " + reason,
		DedupeValues: []string{string(csr.UID), reason},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "certificatesigningrequest.servingcertificates", &certificatesv1.CertificateSigningRequest{}, 1,
		controllers.When(open)).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
