// Package rollout decides whether all nodes of a NodePool are made as the NodePool and its LinodeNodeClass are now.
//
// Core marks the nodes to replace with the condition Drifted, up to five minutes after a change. Of therefore compares the hashes and the
// requirements itself, as core does: a question that is asked one second after a change gets no answer about the NodePool of before.
// A difference that only the provider knows, such as another firewall on the Linode, counts from the condition on.
//
// Nodes that join or leave because pods come and go are no part of a rollout. A static NodePool also has to have its replicas.
//
// Called by controllers/rollout, for the condition, and by cmd/karpenter-linode, for `rollout status`.
//
// Read makes three lists at most, and returns an error if the API server does not answer. Obstacles names what holds a rollout now, such
// as a budget that lets no node go. Of is a pure function.
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
	ReasonUnobserved = "ChangeNotObserved" // the operator has not taken a change up yet
	ReasonMissing    = "ReplicasMissing"   // of a static NodePool
)

// An Outdated is a node that a rollout still has to replace.
type Outdated struct {
	NodeClaim string `json:"nodeClaim"`
	Why       string `json:"why"`     // Karpenter's reason, such as NodePoolDrifted
	Leaving   bool   `json:"leaving"` // it is being drained
}

// Progress is how far a rollout is.
type Progress struct {
	UpToDate   int        `json:"upToDate"`             // nodes, ready or on their way
	Joining    int        `json:"joining"`              // of these, without a node that pods can use
	Outdated   []Outdated `json:"outdated"`             // by name
	Missing    int        `json:"missing"`              // replicas of a static NodePool that are not ready
	Unobserved string     `json:"unobserved,omitempty"` // the object whose change the operator has not taken up, "" = none
}

// Of compares the NodeClaims of a NodePool with the NodePool and its class. class is nil where it does not exist.
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

// unobserved names the object of which a change is too recent for the other answers.
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

// outdated returns why a node has to be replaced, "" if it has not.
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

// differ compares two hashes. Hashes of different versions, and a missing one, are no difference: core and the provider judge so.
func differ(a, b map[string]string, hash, version string) bool {
	return a[hash] != "" && b[hash] != "" && a[version] == b[version] && a[hash] != b[hash]
}

func is(claim *karpv1.NodeClaim, condition string) bool {
	return claim.StatusConditions(status.WithObservedOnly()).Get(condition).IsTrue()
}

// Done returns whether nothing is left to replace.
func (p Progress) Done() bool { return p.Reason() == ReasonDone }

// Reason is the reason of the condition.
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

// named is how many nodes a message names.
const named = 3

// Message describes the progress in a sentence. Of a rollout that is done it does not change with the number of nodes.
func (p Progress) Message() string {
	switch p.Reason() {
	case ReasonUnobserved:
		return fmt.Sprintf("The operator has not observed the last change of %s yet", p.Unobserved)
	case ReasonMissing:
		return fmt.Sprintf("%d of the replicas are not ready", p.Missing)
	case ReasonDone:
		return "All nodes are made from the NodePool and the LinodeNodeClass as they are now"
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
	return fmt.Sprintf("%d nodes are up to date, %d join, %d are outdated, of which %d leave: %s", p.UpToDate-p.Joining, p.Joining,
		len(p.Outdated), leaving, strings.Join(names, ", "))
}

// Obstacles returns what holds the rollout of a NodePool now: conditions of the NodePool, and budgets that let no node go.
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
			all = append(all, fmt.Sprintf("spec.disruption.budgets let none of %d nodes go for drift now", nodes))
		}
	}
	return all
}

// Condition is True on a NodePool whose rollout is done, and False while it is not.
const Condition = "RolledOut"
