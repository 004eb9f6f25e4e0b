package explain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// stopped returns true if no operator works, and adds a sentence about this.
func (e Explainer) stopped(x *Explanation) bool {
	if e.Reports == nil {
		return false
	}
	const cure = "nothing is made or removed until an operator runs (docs/operator-not-ready.md)"
	unread := slices.ContainsFunc(e.Reports.Unread, func(what string) bool { return strings.HasPrefix(what, theLease) })
	switch lease := e.Reports.Lease; {
	case lease == nil && unread:
		return false
	case lease == nil:
		x.add("There is no Lease %s: no operator has run here, unless one runs without leader election.", leaseName)
		return false
	case !lease.Expired:
		return false
	case lease.Holder == "":
		x.add("Karpenter does not work: its Lease %s was given back %s ago; %s.", lease.Name, e.ago(lease), cure)
	default:
		x.add("Karpenter does not work: its Lease %s was renewed last %s ago, by %s; %s.", lease.Name, e.ago(lease), lease.Holder, cure)
	}
	return true
}

func (e Explainer) ago(lease *Lease) string { return duration.HumanDuration(e.Now.Sub(lease.Renewed)) }

// beingMade looks for the NodeClaim that core has made for a pod, or for a NodeClaim whose launch core waits for before it plans. It adds
// the NodeClaim, and returns whether there is one.
func (e Explainer) beingMade(x *Explanation, pod *corev1.Pod) bool {
	if name := e.Reports.nominated(pod); name != "" {
		claim := find(e.Cluster.NodeClaims, "", name)
		switch {
		case claim == nil:
			x.add("NodeClaim %s, which was made for it, is gone.", name)
			e.events(x, "NodeClaim", name)
		case claim.DeletionTimestamp.IsZero() && !claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue():
			x.add("NodeClaim %s of NodePool %s is for it%s.", name, claim.Labels[karpv1.NodePoolLabelKey], e.planOf(claim))
			e.unfinished(x, claim)
			return true
		}
	}
	i := slices.IndexFunc(e.Cluster.NodeClaims, func(c *karpv1.NodeClaim) bool { return unlaunched(c) && nodeclaim.Ours(c.Spec.NodeClassRef) })
	if i < 0 {
		return false
	}
	claim := e.Cluster.NodeClaims[i]
	x.add("Karpenter plans nothing until NodeClaim %s of NodePool %s is launched or gone.", claim.Name, claim.Labels[karpv1.NodePoolLabelKey])
	e.unfinished(x, claim)
	return true
}

// unfinished adds the step for which a NodeClaim waits, and the reports of its NodePool and class.
func (e Explainer) unfinished(x *Explanation, claim *karpv1.NodeClaim) {
	e.lifecycle(x, "NodeClaim "+claim.Name, claim)
	e.events(x, "NodeClaim", claim.Name)
	e.trouble(x, claim.Labels[karpv1.NodePoolLabelKey])
}

// told are the conditions of a NodePool that are False while its nodes have trouble. A verdict has the conditions that exclude the whole
// NodePool.
var told = []string{nodepoolstatus.ConditionNodesJoining, nodepoolstatus.ConditionDelivered, nodepoolstatus.ConditionAvailable,
	karpv1.ConditionTypeNodeRegistrationHealthy}

// trouble adds the conditions and warnings of a NodePool.
func (e Explainer) trouble(x *Explanation, name string) {
	nodePool := e.nodePool(name)
	if nodePool == nil {
		return
	}
	for _, condition := range nodePool.StatusConditions().List() {
		if condition.IsFalse() && slices.Contains(told, condition.Type) {
			x.add("NodePool %s: %s", name, sentence(stated(condition)))
		}
	}
	e.events(x, "NodePool", name)
}

// tokenRefused returns the message of a NodePool about a token that the Linode API refuses, "" if no NodePool has such a message.
func (e Explainer) tokenRefused() string {
	for _, nodePool := range e.Cluster.NodePools {
		if c := nodePool.StatusConditions().Get(nodepoolstatus.ConditionAvailable); c.IsFalse() && c.Reason == launches.EventTokenRefused {
			return c.Message
		}
	}
	return ""
}

// mirrored are the reasons of events whose cause is in a condition, too. The condition ends with the cause, but the event stays for an
// hour.
var mirrored = []string{launches.EventTokenRefused, nodepoolstatus.EventNodePoolNotReady, nodepoolstatus.EventNoLimits,
	nodepoolstatus.ConditionAvailable, nodepoolstatus.ConditionNodesJoining, nodepoolstatus.ConditionDelivered,
	nodepoolstatus.ConditionEmptyStay, nodepoolstatus.ConditionDriftStalled}

// events adds the recent warnings about an object that no sentence has yet.
func (e Explainer) events(x *Explanation, kind, name string) {
	const shown = 3
	n := 0
	nodePool := e.nodePool(name)
	for _, event := range e.Reports.warnings(kind, name, e.Now) {
		// A NodePool may have the name of a deleted NodePool, whose events stay for an hour.
		if uid := event.InvolvedObject.UID; kind == "NodePool" && nodePool != nil && uid != "" && uid != nodePool.UID {
			continue
		}
		known := slices.ContainsFunc(x.Sentences, func(s string) bool { return strings.Contains(s, strings.TrimRight(event.Message, ".")) })
		if known || n == shown || slices.Contains(mirrored, event.Reason) {
			continue
		}
		n++
		x.add("%s ago, %s on %s %s: %s", duration.HumanDuration(e.Now.Sub(at(&event))), event.Reason, kind, name, sentence(event.Message))
	}
}
