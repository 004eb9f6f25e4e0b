package whatif

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
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

// changes returns what is tried for a NodePool: the other common class of plans, and each of the two plans that it spends most on left out.
func changes(nodePool string, then []Group) (list []change) {
	dedicated := false
	for _, group := range then { // by price within a pool
		if group.Pool == "NodePool "+nodePool && len(list) < 2 {
			list = append(list, without(group.Plan))
			dedicated = dedicated || len(group.Plan) > 12 && group.Plan[2:12] == "-dedicated"
		}
	}
	if len(list) == 0 {
		return nil
	}
	class := v1alpha1.InstanceClassDedicated
	if dedicated {
		class = v1alpha1.InstanceClassStandard
	}
	return append([]change{only(class)}, list...)
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

// variations simulates each change of each NodePool that has nodes.
func (r *run) variations(ctx context.Context, report *Report) (all []Variation, _ error) {
	for i, nodePool := range r.nodePools {
		for _, change := range changes(nodePool.Name, report.Then) {
			changed := slices.Clone(r.nodePools)
			changed[i] = change.apply(nodePool)
			w, _, _, _, err := r.settle(ctx, changed)
			if err != nil {
				return nil, err
			}
			groups, monthly := r.then(w)
			waiting, err := w.waiting(ctx)
			if err != nil {
				return nil, err
			}
			v := Variation{NodePool: nodePool.Name, Change: change.text, Monthly: monthly, Difference: monthly - report.ThenMonthly,
				Unplaced: len(waiting)}
			for _, group := range groups {
				v.Nodes += group.Nodes
			}
			all = append(all, v)
		}
	}
	return all, nil
}
