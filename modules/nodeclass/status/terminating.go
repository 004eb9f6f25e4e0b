package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// How many NodeClaims a message names.
const shownNodeClaims = 5

// ApplyWaiting writes into the status of a class that is being deleted which NodeClaims it waits for. It reports whether anything
// changed. The message names the first few in the order of their names. It has no count, which would change it a thousand times while a
// thousand NodeClaims go.
func ApplyWaiting(class *v1alpha1.LinodeNodeClass, nodeClaims []string, opts ...status.ForOption) bool {
	before := class.Status.DeepCopy()
	class.StatusConditions(opts...).Set(status.Condition{
		Type: status.ConditionReady, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonWaitingOnNodeClaimTermination, Message: bounded(waitingFor(class.Name, nodeClaims), mostMessage),
	})
	return !equal(before, &class.Status)
}

// waitingFor names the NodeClaims and the two remedies. A deletion that has begun cannot be taken back.
func waitingFor(class string, nodeClaims []string) string {
	names := slices.Sorted(slices.Values(nodeClaims))
	list := strings.Join(names[:min(len(names), shownNodeClaims)], ", ")
	if len(names) > shownNodeClaims {
		list += " and others"
	}
	return fmt.Sprintf("Waiting for the termination of NodeClaims %s; NodePools with this class get no nodes. To finish the deletion: "+
		"kubectl delete nodeclaims -l %s=%s. "+
		"To keep the nodes: apply the class under another name and set that in the NodePools' nodeClassRef; applying it under this name has "+
		"no effect", list, v1alpha1.LabelNodeClass, class)
}
