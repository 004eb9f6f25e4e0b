package certificates

import (
	"context"
	"fmt"
	"hash/crc32"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

const (
	again = 5 * time.Second // the shortest pause; it grows with the age of the request
	// quiet is the age of a request up to which a reason that time may remove is not reported.
	quiet = 30 * time.Second
	// givenUp is the age of a request at which a kubelet stops waiting and makes another request.
	givenUp = 15 * time.Minute
	// remembered is how long a reported request is remembered. Kubernetes deletes a pending request after 24 h.
	remembered = 25 * time.Hour
	// longestReason bounds a reason in the log and in an event: a subject may have a megabyte.
	longestReason = 600
)

// judgement returns why a request is not approved, and whether time may remove the reason. The reason is "" for a request that is
// approved.
type judgement func(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (reason string, passes bool, err error)

// kind describes the certificates of one signer. All fields are required.
type kind struct {
	controller string // name of the controller in metrics and logs
	signer     string
	name       string // of the certificates in texts, for example "serving certificate"
	event      string // the reason of the event on a request that stays undecided
	judge      judgement
	approved   string // the message of an approval
}

// Controller reconciles CertificateSigningRequests of one signer.
type Controller struct {
	kube     client.Client
	recorder events.Recorder
	kind     kind
	reported *cache.Expiring // by UID: a checksum of the reason, which repeats what a stranger has sent
}

// newController returns a Controller.
func newController(kube client.Client, recorder events.Recorder, of kind) *Controller {
	return &Controller{kube: kube, recorder: recorder, kind: of, reported: cache.NewExpiring()}
}

// Reconcile approves a request, or reports why it does not approve the request.
func (c *Controller) Reconcile(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (reconcile.Result, error) {
	if !c.open(csr) {
		return reconcile.Result{}, nil
	}
	reason, passes, err := c.kind.judge(ctx, csr)
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

// open returns whether a request is for the controller's signer and undecided.
func (c *Controller) open(csr *certificatesv1.CertificateSigningRequest) bool {
	return csr.Spec.SignerName == c.kind.signer && csr.DeletionTimestamp.IsZero() &&
		len(csr.Status.Conditions) == 0 && len(csr.Status.Certificate) == 0
}

// approve decides on the request as it was read. If the request has changed since, the API server refuses the approval, and the request
// is read again.
func (c *Controller) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	decided := csr.DeepCopy()
	decided.Status.Conditions = append(decided.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "KarpenterNode",
		Message: c.kind.approved, LastUpdateTime: metav1.Now(),
	})
	if err := c.kube.SubResource("approval").Update(ctx, decided); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("approving CertificateSigningRequest %s: %w", csr.Name, err))
	}
	log.FromContext(ctx).Info("approved a "+c.kind.name, "CertificateSigningRequest", csr.Name, "requester", csr.Spec.Username)
	return nil
}

func (c *Controller) report(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, reason string) {
	reason = printable.Bounded(reason, longestReason)
	checksum := crc32.ChecksumIEEE([]byte(reason))
	if last, seen := c.reported.Get(csr.UID); seen && last == checksum {
		return
	}
	c.reported.Set(csr.UID, checksum, remembered)
	log.FromContext(ctx).Info("left a request for a "+c.kind.name+" undecided", "CertificateSigningRequest", csr.Name, "requester",
		csr.Spec.Username, "reason", reason)
	c.recorder.Publish(events.Event{
		InvolvedObject: csr, Type: corev1.EventTypeNormal, Reason: c.kind.event,
		Message:      "Karpenter leaves this request undecided: " + reason,
		DedupeValues: []string{string(csr.UID), reason},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, c.kind.controller, &certificatesv1.CertificateSigningRequest{}, 1, controllers.When(c.open)).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
