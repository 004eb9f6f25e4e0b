package whatif

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// A change has requirements that a NodePool gets in addition. The NodePool's own requirements on a replaced label are dropped.
type change struct {
	text         string
	requirements []karpv1.NodeSelectorRequirementWithMinValues
	replaces     string
}

func require(key string, operator corev1.NodeSelectorOperator, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values}
}

func only(class string) change {
	return change{"with " + class + " plans", []karpv1.NodeSelectorRequirementWithMinValues{
		require(v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpIn, class),
	}, v1alpha1.LabelInstanceClass}
}

func without(plan string) change {
	return change{"without " + plan, []karpv1.NodeSelectorRequirementWithMinValues{
		require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpNotIn, plan),
	}, ""}
}

// common are the classes of plans that have neither much memory nor GPUs nor a special price.
var common = []string{v1alpha1.InstanceClassStandard, v1alpha1.InstanceClassDedicated}

// bounds are the numbers of vCPUs of the variations that bound the size of nodes. In shared plans of up to 4 vCPUs, a vCPU has the same
// price in each plan; in larger plans it costs more with each size. A variation with a bound also requires the common classes. Otherwise
// core would choose plans of 2 vCPUs with 24 GiB, because they hold more pods than a plan of 4 vCPUs with 8 GiB.
var bounds = []int{4, 8}

func upTo(vCPUs int) change {
	text := fmt.Sprintf("with standard and dedicated plans of at most %d vCPUs", vCPUs)
	return change{text, []karpv1.NodeSelectorRequirementWithMinValues{
		require(v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpIn, common...),
		require(v1alpha1.LabelInstanceCPU, corev1.NodeSelectorOpLt, strconv.Itoa(vCPUs+1)),
	}, ""}
}

// changes returns the changes that are simulated for a NodePool: only one of the common classes, for each of them; smaller nodes, if the
// NodePool has large nodes; and without one of the two plans on which it spends most, for each of them.
func (r *run) changes(nodePool string, then []Group) (list []change) {
	var used []catalog.Plan
	for _, group := range then { // by price within a pool
		if group.Pool == "NodePool "+nodePool {
			used = append(used, r.plans[group.Plan])
		}
	}
	if len(used) == 0 {
		return nil
	}
	if !slices.ContainsFunc(used, func(p catalog.Plan) bool { return p.GPUs > 0 }) {
		for _, class := range common {
			if slices.ContainsFunc(used, func(p catalog.Plan) bool { return string(p.Class) != class }) {
				list = append(list, only(class))
			}
		}
		for _, bound := range bounds {
			if slices.ContainsFunc(used, func(p catalog.Plan) bool {
				return p.VCPUs > bound || !slices.Contains(common, string(p.Class))
			}) {
				list = append(list, upTo(bound))
			}
		}
	}
	for _, plan := range used[:min(len(used), 2)] {
		list = append(list, without(plan.ID))
	}
	return list
}

func (c change) apply(nodePool *karpv1.NodePool) *karpv1.NodePool {
	nodePool = nodePool.DeepCopy()
	spec := &nodePool.Spec.Template.Spec
	spec.Requirements = slices.DeleteFunc(spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == c.replaces
	})
	spec.Requirements = append(spec.Requirements, c.requirements...)
	return nodePool
}

// A variation is the simulation of a change.
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
