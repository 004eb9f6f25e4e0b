package certificates

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
)

// EventClientNotApproved is the reason of the event on a request that stays undecided.
const EventClientNotApproved = "ClientCertificateNotApproved"

// NewClient returns the controller. nodeName returns the name of a NodeClaim's node.
func NewClient(kube client.Client, recorder events.Recorder, nodeName func(nodeClaim string) string) *Controller {
	return newController(kube, recorder, kind{
		controller: "certificatesigningrequest.clientcertificates", signer: certificatesv1.KubeAPIServerClientKubeletSignerName,
		name: "client certificate", event: EventClientNotApproved,
		approved: "the bootstrap token of a NodeClaim requests it for that NodeClaim's node",
		judge: func(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (string, bool, error) {
			return judgeClient(ctx, kube, nodeName, csr)
		},
	})
}

func judgeClient(
	ctx context.Context, kube client.Reader, nodeName func(string) string, csr *certificatesv1.CertificateSigningRequest,
) (reason string,
	passes bool, err error) {
	id, is := strings.CutPrefix(csr.Spec.Username, bootstraptoken.UserPrefix)
	if !is || !slices.Contains(csr.Spec.Groups, bootstraptoken.Group) {
		return fmt.Sprintf("the sender %q is not a bootstrap token of the group %s", csr.Spec.Username, bootstraptoken.Group), false, nil
	}
	wanted, reason := read(csr, certificatesv1.UsageClientAuth)
	if reason != "" {
		return reason, false, nil
	}
	if len(wanted.DNSNames)+len(wanted.IPAddresses) > 0 {
		return "it requests DNS names or addresses, which no client certificate of a kubelet has", false, nil
	}
	node := strings.TrimPrefix(wanted.Subject.CommonName, nodeUser)
	claim, err := claimOfNode(ctx, kube, nodeName, node)
	switch {
	case err != nil:
		return "", false, err
	case claim == nil:
		return fmt.Sprintf("no NodeClaim has the node %s", node), true, nil
	case bootstraptoken.TokenID(claim.UID) != id:
		return fmt.Sprintf("the sending token does not belong to NodeClaim %s, which has the node %s", claim.Name, node), false, nil
	case !claim.DeletionTimestamp.IsZero():
		return fmt.Sprintf("NodeClaim %s of the node %s is being deleted", claim.Name, node), false, nil
	case claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered):
		return fmt.Sprintf("NodeClaim %s of the node %s is registered: its node has a certificate", claim.Name, node), false, nil
	}
	older := &corev1.Node{}
	switch err := kube.Get(ctx, client.ObjectKey{Name: node}, older); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return "", false, fmt.Errorf("reading Node %s: %w", node, err)
	case !older.CreationTimestamp.After(claim.CreationTimestamp.Time):
		return fmt.Sprintf("Node %s is older than NodeClaim %s, so it is the node of another machine: delete the NodeClaim, or the Node if its "+
			"machine is gone", node, claim.Name), true, nil
	}
	return "", false, nil
}
