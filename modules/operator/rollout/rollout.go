// Package rollout decides whether all nodes of a NodePool were made from the current NodePool and its current LinodeNodeClass.
//
// Core marks the nodes to replace with the condition Drifted, up to five minutes after a change. So Of does not only read this condition:
// it also compares the hashes and the requirements, as core does. Example: a user changes the NodePool at 12:00:00. At 12:00:01 Of returns
// that the change is not observed yet, or that the nodes are outdated, although core has marked no node. A difference that only the
// provider finds, such as another firewall on the Linode, counts as soon as core has set the condition.
//
// Nodes that join or leave because pods come and go are not part of a rollout. A static NodePool must also have its replicas.
//
// Package controllers/rollout uses it for the condition, and cmd/karpenter-linode for `rollout status`.
//
// Read makes two lists, and returns an error if the API server does not answer. Obstacles names the present obstacles of a rollout, such as
// a budget that lets no node go. Of is a pure function.
package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/utils/clock"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// The reasons of the condition, which Argo CD and Flux may compare.
const (
	ReasonDone       = "NodesUpToDate"
	ReasonReplacing  = "NodesOutdated"
	ReasonUnobserved = "ChangeNotObserved" // the operator has not processed a change yet
	ReasonMissing    = "ReplicasMissing"   // of a static NodePool
)

// An Outdated is a node that a rollout still has to replace.
type Outdated struct {
	NodeClaim string `json:"nodeClaim"`
	Why       string `json:"why"`     // Karpenter's reason, such as NodePoolDrifted
	Leaving   bool   `json:"leaving"` // the NodeClaim is being deleted
}

// Progress is the progress of a rollout.
type Progress struct {
	UpToDate   int        `json:"upToDate"`             // nodes made from the current objects, including nodes that have not joined yet
	Joining    int        `json:"joining"`              // nodes of UpToDate that are not initialized
	Outdated   []Outdated `json:"outdated"`             // by name
	Missing    int        `json:"missing"`              // replicas of a static NodePool that are not ready
	Unobserved string     `json:"unobserved,omitempty"` // the object whose change the operator has not processed, "" = none
}

// Of compares the NodeClaims of a NodePool with the NodePool and its class. class is nil if the class does not exist.
func Of(nodePool *karpv1.NodePool, class *v1alpha1.LinodeNodeClass, claims []*karpv1.NodeClaim) Progress {
	p := Progress{Unobserved: unobserved(nodePool, class)}
	for _, claim := range claims {
		why := outdated(nodePool, class, claim)
		leaving := !claim.DeletionTimestamp.IsZero()
		switch {
		case why != "":
			p.Outdated = append(p.Outdated, Outdated{claim.Name, why, leaving})
		case leaving:
		default:
			p.UpToDate++
			if !is(claim, karpv1.ConditionTypeInitialized) {
				p.Joining++
			}
		}
	}
	slices.SortFunc(p.Outdated, func(a, b Outdated) int { return cmp.Compare(a.NodeClaim, b.NodeClaim) })
	if nodePool.Spec.Replicas != nil {
		p.Missing = max(0, int(*nodePool.Spec.Replicas)-(p.UpToDate-p.Joining))
	}
	return p
}

// unobserved returns the object whose last change the operator has not processed yet, so that its hash or status is still the old one.
func unobserved(nodePool *karpv1.NodePool, class *v1alpha1.LinodeNodeClass) string {
	if nodePool.Annotations[karpv1.NodePoolHashAnnotationKey] != nodePool.Hash() {
		return "NodePool " + nodePool.Name
	}
	if class == nil {
		return ""
	}
	ready := class.StatusConditions(status.WithObservedOnly()).Get(status.ConditionReady)
	if ready == nil || ready.ObservedGeneration != class.Generation {
		return v1alpha1.Kind + " " + class.Name
	}
	return ""
}

// outdated returns why a node has to be replaced, "" if it is up to date.
func outdated(nodePool *karpv1.NodePool, class *v1alpha1.LinodeNodeClass, claim *karpv1.NodeClaim) string {
	drifted := claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted)
	requirements := scheduling.NewNodeSelectorRequirementsWithMinValues(nodePool.Spec.Template.Spec.Requirements...)
	switch {
	case drifted.IsTrue():
		return drifted.Reason
	case differ(claim.Annotations, nodePool.Annotations, karpv1.NodePoolHashAnnotationKey, karpv1.NodePoolHashVersionAnnotationKey):
		return "NodePoolDrifted"
	case class != nil && differ(claim.Annotations, class.Annotations, v1alpha1.AnnotationHash, v1alpha1.AnnotationHashVersion):
		return "NodeClassDrifted"
	case is(claim, karpv1.ConditionTypeLaunched) && scheduling.NewLabelRequirements(claim.Labels).Compatible(requirements) != nil:
		return "RequirementsDrifted"
	}
	return ""
}

// differ returns whether two hashes differ. Hashes of different versions, and a missing hash, are no difference, as in core and in package
// cloudprovider.
func differ(a, b map[string]string, hash, version string) bool {
	return a[hash] != "" && b[hash] != "" && a[version] == b[version] && a[hash] != b[hash]
}

func is(claim *karpv1.NodeClaim, condition string) bool {
	return claim.StatusConditions(status.WithObservedOnly()).Get(condition).IsTrue()
}

// Done returns whether the rollout is done.
func (p Progress) Done() bool { return p.Reason() == ReasonDone }

// Reason returns the reason of the condition.
func (p Progress) Reason() string {
	switch {
	case p.Unobserved != "":
		return ReasonUnobserved
	case len(p.Outdated) > 0:
		return ReasonReplacing
	case p.Missing > 0:
		return ReasonMissing
	}
	return ReasonDone
}

// named is the most nodes that a message names.
const named = 3

// Message describes the progress in a sentence. The sentence of a finished rollout does not depend on the number of nodes.
func (p Progress) Message() string {
	switch p.Reason() {
	case ReasonUnobserved:
		return fmt.Sprintf("The operator has not observed the last change of %s yet", p.Unobserved)
	case ReasonMissing:
		return fmt.Sprintf("%d of the replicas are not ready", p.Missing)
	case ReasonDone:
		return "All nodes are made from the current NodePool and LinodeNodeClass"
	}
	var names []string
	leaving := 0
	for _, o := range p.Outdated {
		if o.Leaving {
			leaving++
		}
		if len(names) < named {
			names = append(names, fmt.Sprintf("%s (%s)", o.NodeClaim, o.Why))
		}
	}
	if more := len(p.Outdated) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d nodes are up to date, %d are joining, %d are outdated (%d of them are being deleted): %s",
		p.UpToDate-p.Joining, p.Joining, len(p.Outdated), leaving, strings.Join(names, ", "))
}

// Obstacles returns the present obstacles of a NodePool's rollout: conditions of the NodePool, and budgets that let no node go.
func Obstacles(nodePool *karpv1.NodePool, p Progress, clk clock.Clock) (all []string) {
	if p.Done() {
		return nil
	}
	conditions := nodePool.StatusConditions(status.WithObservedOnly())
	for _, c := range conditions.List() {
		bad := c.IsFalse()
		if c.Type == "DriftStalled" || c.Type == "OffHours" {
			bad = c.IsTrue()
		}
		if bad && c.Type != Condition && c.Type != "LimitsSet" {
			all = append(all, fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason)))
		}
	}
	if len(p.Outdated) > 0 {
		nodes := p.UpToDate + len(p.Outdated)
		allowed, err := nodePool.GetAllowedDisruptionsByReason(clk, nodes, karpv1.DisruptionReasonDrifted)
		switch {
		case err != nil:
			all = append(all, fmt.Sprintf("spec.disruption.budgets: %v", err))
		case allowed == 0:
			all = append(all, fmt.Sprintf("spec.disruption.budgets allow no disruption of the %d nodes for drift now", nodes))
		}
	}
	return all
}

// Condition is the type of the condition on a NodePool: True if the rollout is done, False if it is not.
const Condition = "RolledOut"
