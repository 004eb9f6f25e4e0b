package podevents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

// A bound is a ready NodePool with its plans: within has the plans that its limits still allow, beyond the plans that its limits or its
// off-hours exclude.
type bound struct {
	nodePool     string
	requirements scheduling.Requirements
	taints       scheduling.Taints
	left         string // the rest of the limits that exclude plans
	held         string // why the NodePool makes no node in its off-hours, "" outside of them
	within       []*cloudprovider.InstanceType
	beyond       []*cloudprovider.InstanceType
}

// bounds returns the ready NodePools, in order of their names. It leaves out a NodePool whose plans are not known; core logs the error.
func (c *Controller) bounds(ctx context.Context, nodePools []karpv1.NodePool) (all []bound) {
	for i := range nodePools {
		nodePool := &nodePools[i]
		if !nodePool.StatusConditions().Root().IsTrue() {
			continue
		}
		if types, err := c.types.GetInstanceTypes(ctx, nodePool); err == nil {
			all = append(all, bounded(nodePool, types))
		}
	}
	slices.SortFunc(all, func(a, b bound) int { return strings.Compare(a.nodePool, b.nodePool) })
	return all
}

// bounded separates the plans of a NodePool by the rest of its limits, as core does before it plans.
func bounded(nodePool *karpv1.NodePool, types []*cloudprovider.InstanceType) bound {
	b := bound{
		nodePool:     nodePool.Name,
		requirements: scheduling.NewNodeSelectorRequirementsWithMinValues(nodePool.Spec.Template.Spec.Requirements...),
		taints:       nodePool.Spec.Template.Spec.Taints,
	}
	b.requirements.Add(scheduling.NewLabelRequirements(nodePool.Spec.Template.Labels).Values()...)
	b.held = offhours.Held(nodePool)
	left := resources.Subtract(corev1.ResourceList(nodePool.Spec.Limits), nodePool.Status.Resources)
	var reached []string
	for _, it := range types {
		if it.Requirements.Intersects(b.requirements) != nil || !it.Offerings.Available().HasCompatible(b.requirements) {
			continue
		}
		over := exceeded(it, left)
		if len(over) == 0 && b.held == "" {
			b.within = append(b.within, it)
		} else {
			b.beyond, reached = append(b.beyond, it), append(reached, over...)
		}
	}
	slices.Sort(reached)
	for _, name := range slices.Compact(reached) {
		limit, rest := nodePool.Spec.Limits[corev1.ResourceName(name)], left[corev1.ResourceName(name)]
		b.left += fmt.Sprintf(", %s of %s %s", rest.String(), limit.String(), name)
	}
	b.left = strings.TrimPrefix(b.left, ", ")
	return b
}

// exceeded names the limits that one more node of the type would exceed.
func exceeded(it *cloudprovider.InstanceType, left corev1.ResourceList) (names []string) {
	for name, rest := range left {
		if resources.Cmp(it.Capacity[name], rest) > 0 {
			names = append(names, string(name))
		}
	}
	return names
}

// heldBack returns the reason and the message of an event on a pod that gets no node only because of limits or off-hours. It returns "" if
// a NodePool may still make a node that holds the pod, or if no NodePool could make such a node at any time. It does not count the
// requests of DaemonSets: a pod gets no such event if it lacks room only because of DaemonSets.
func heldBack(pod *corev1.Pod, bounds []bound) (reason, message string) {
	requests, wanted := resources.RequestsForPods(pod), scheduling.NewStrictPodRequirements(pod)
	for _, b := range bounds {
		if b.taints.ToleratesPod(pod) != nil || b.requirements.Compatible(wanted, scheduling.AllowUndefinedWellKnownLabels) != nil {
			continue
		}
		holds := func(it *cloudprovider.InstanceType) bool {
			return it.Requirements.Intersects(wanted) == nil && resources.Fits(requests, it.Allocatable())
		}
		switch {
		case slices.ContainsFunc(b.within, holds):
			return "", ""
		case message != "" || !slices.ContainsFunc(b.beyond, holds):
		case b.held != "":
			reason, message = EventOffHours, fmt.Sprintf("NodePool %s makes no node for this pod now. %s", b.nodePool, b.held)
		case len(b.within) > 0:
			reason, message = EventLimitsReached, fmt.Sprintf("NodePool %s has %s left of spec.limits, and every plan that fits this pod exceeds "+
				"it: raise the limits, remove nodes, or lower the pod's requests", b.nodePool, b.left)
		}
	}
	return reason, message
}
