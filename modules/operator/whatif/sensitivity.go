package whatif

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
)

// A change is one requirement that a NodePool gets in addition.
type change struct {
	text        string
	requirement karpv1.NodeSelectorRequirementWithMinValues
	replaces    bool // requirements of the same label are dropped
}

func only(class string) change {
	return change{"with " + class + " plans", karpv1.NodeSelectorRequirementWithMinValues{
		Key: v1alpha1.LabelInstanceClass, Operator: corev1.NodeSelectorOpIn, Values: []string{class},
	}, true}
}

func without(plan string) change {
	return change{"without " + plan, karpv1.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{plan},
	}, false}
}

// moderate is the largest number of vCPUs of the variation that bounds the size of nodes.
const moderate = 8

func upTo(vCPUs int) change {
	return change{fmt.Sprintf("with plans of at most %d vCPUs", vCPUs), karpv1.NodeSelectorRequirementWithMinValues{
		Key: v1alpha1.LabelInstanceCPU, Operator: corev1.NodeSelectorOpLt, Values: []string{strconv.Itoa(vCPUs + 1)},
	}, false}
}

// changes returns what is tried for a NodePool: other common classes of plans, smaller nodes where it has large ones, and each of the two
// plans that it spends most on left out.
func (r *run) changes(nodePool string, then []Group) (list []change) {
	var used []instancetype.Plan
	for _, group := range then { // by price within a pool
		if group.Pool == "NodePool "+nodePool {
			used = append(used, r.plans[group.Plan])
		}
	}
	if len(used) == 0 {
		return nil
	}
	for _, class := range []string{v1alpha1.InstanceClassStandard, v1alpha1.InstanceClassDedicated} {
		if !slices.ContainsFunc(used, func(p instancetype.Plan) bool { return p.GPUs > 0 }) &&
			slices.ContainsFunc(used, func(p instancetype.Plan) bool { return string(p.Class) != class }) {
			list = append(list, only(class))
		}
	}
	if slices.ContainsFunc(used, func(p instancetype.Plan) bool { return p.VCPUs > moderate }) {
		list = append(list, upTo(moderate))
	}
	for _, plan := range used[:min(len(used), 2)] {
		list = append(list, without(plan.ID))
	}
	return list
}

func (c change) apply(nodePool *karpv1.NodePool) *karpv1.NodePool {
	nodePool = nodePool.DeepCopy()
	spec := &nodePool.Spec.Template.Spec
	if c.replaces {
		spec.Requirements = slices.DeleteFunc(spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == c.requirement.Key
		})
	}
	spec.Requirements = append(spec.Requirements, c.requirement)
	return nodePool
}

// A variation is a change that is simulated.
type variation struct {
	Variation
	nodePools []*karpv1.NodePool
}

// variations returns each change of each NodePool that has nodes.
func (r *run) variations(report *Report) (all []variation) {
	for i, nodePool := range r.nodePools {
		for _, change := range r.changes(nodePool.Name, report.Then) {
			changed := slices.Clone(r.nodePools)
			changed[i] = change.apply(nodePool)
			all = append(all, variation{Variation{NodePool: nodePool.Name, Change: change.text}, changed})
		}
	}
	return all
}

// vary simulates a change and fills in its result.
func (r *run) vary(ctx context.Context, report *Report, v *variation) error {
	s, err := r.settle(ctx, v.nodePools, asPlanned)
	if err != nil {
		return err
	}
	waiting, err := s.world.waiting(ctx)
	if err != nil {
		return err
	}
	groups, monthly := r.then(s.world)
	v.Monthly, v.Difference, v.Unplaced = monthly, monthly-report.ThenMonthly, len(waiting)
	for _, group := range groups {
		v.Nodes += group.Nodes
	}
	return nil
}
