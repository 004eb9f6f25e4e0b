// Package requirement explains requirements of NodePools and NodeClaims to users: which requirement no plan meets, which values of plans
// are close to the required value, and which labels belong to another cloud's provider.
//
// Karpenter core reports that nothing fits, but not which requirement is the reason. All functions here are pure. The packages
// cloudprovider and nodepoolstatus publish the results, and `karpenter-linode plans` prints them.
//
// Example: a NodePool requires instance-type g6-standard-3. Unmet returns "no plan has node.kubernetes.io/instance-type = g6-standard-3.
// Similar: g6-standard-2, g6-standard-4". A plan can meet a requirement although it cannot be bought now. Equivalent maps
// karpenter.k8s.aws/instance-cpu to karpenter.k8s.linode/instance-cpu; in a NodePool such a label of another provider selects no plan and
// excludes none.
package requirement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// A Selector is one requirement of a NodePool or NodeClaim.
type Selector = karpv1.NodeSelectorRequirementWithMinValues

// Unmet returns why no instance type meets all of the requirements. It returns nil if one does. The error names a minimal set of
// requirements that together exclude every type. If one requirement alone excludes every type, the error has similar values.
func Unmet(wanted []Selector, all []*cloudprovider.InstanceType) error {
	if err := onDemand(wanted); err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("the operator offers no plan in this region with these settings")
	}
	if met(wanted, all) {
		return nil
	}
	reasons := slices.Clone(wanted)
	for i := 0; i < len(reasons); {
		rest := slices.Delete(slices.Clone(reasons), i, i+1)
		if met(rest, all) {
			i++
		} else {
			reasons = rest
		}
	}
	if len(reasons) == 1 {
		return single(reasons[0], all)
	}
	texts := lo.Map(reasons, func(reason Selector, _ int) string { return Text(reason) })
	return fmt.Errorf("no plan meets all of these requirements: %s", strings.Join(texts, "; "))
}

// Excluding returns the requirements that one instance type does not meet.
func Excluding(wanted []Selector, it *cloudprovider.InstanceType) (texts []string) {
	for _, selector := range wanted {
		if !met([]Selector{selector}, []*cloudprovider.InstanceType{it}) {
			texts = append(texts, Text(selector))
		}
	}
	return texts
}

// Meeting returns the instance types that meet all of the requirements, whether they can be bought now or not.
func Meeting(wanted []Selector, all []*cloudprovider.InstanceType) cloudprovider.InstanceTypes {
	requirements := scheduling.NewNodeSelectorRequirementsWithMinValues(wanted...)
	return lo.Filter(all, func(it *cloudprovider.InstanceType, _ int) bool {
		return requirements.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels)
	})
}

func met(wanted []Selector, all []*cloudprovider.InstanceType) bool {
	return len(Meeting(wanted, all)) > 0
}

// onDemand returns an error for requirements that exclude on-demand, the only capacity type of Linode.
func onDemand(wanted []Selector) error {
	capacityType := scheduling.NewNodeSelectorRequirementsWithMinValues(wanted...).Get(karpv1.CapacityTypeLabelKey)
	if capacityType.Has(karpv1.CapacityTypeOnDemand) {
		return nil
	}
	asked := "other"
	for _, selector := range wanted {
		if selector.Key == karpv1.CapacityTypeLabelKey && selector.Operator == corev1.NodeSelectorOpIn {
			asked = strings.Join(selector.Values, " or ")
		}
	}
	//nolint:staticcheck // Linode is a name
	return fmt.Errorf("Linode sells only on-demand capacity, no %s capacity: add on-demand to the values of %s, or remove the requirement",
		asked, karpv1.CapacityTypeLabelKey)
}

// single explains a requirement that alone excludes every type.
func single(selector Selector, all []*cloudprovider.InstanceType) error {
	switch selector.Operator {
	case corev1.NodeSelectorOpNotIn:
		return fmt.Errorf("every plan has %s = %s, which the requirement %s excludes", selector.Key,
			strings.Join(valuesOf(selector.Key, all), " or "), Text(selector))
	case corev1.NodeSelectorOpDoesNotExist:
		return fmt.Errorf("every plan has the label %s, which the requirement excludes", selector.Key)
	case corev1.NodeSelectorOpExists:
		return fmt.Errorf("no plan has the label %s", selector.Key)
	}
	text := "no plan has " + Text(selector)
	if hint := hint(selector, valuesOf(selector.Key, all)); hint != "" {
		text += ". " + hint
	}
	if selector.Key == corev1.LabelTopologyZone || selector.Key == corev1.LabelTopologyRegion {
		text += " (nodes are made in the cluster's region, and a zone is a region at Linode)"
	}
	return errors.New(text)
}

// Text returns a requirement in short form: "kubernetes.io/arch = arm64".
func Text(selector Selector) string {
	list := List(selector.Values)
	switch selector.Operator {
	case corev1.NodeSelectorOpIn:
		if len(selector.Values) == 1 {
			return selector.Key + " = " + list
		}
		return selector.Key + " in (" + list + ")"
	case corev1.NodeSelectorOpNotIn:
		return selector.Key + " not in (" + list + ")"
	case corev1.NodeSelectorOpExists:
		return selector.Key + " exists"
	case corev1.NodeSelectorOpDoesNotExist:
		return selector.Key + " does not exist"
	}
	return strings.Join([]string{selector.Key, operators[selector.Operator], list}, " ")
}

// List returns the first five texts, and the number of the others.
func List(texts []string) string {
	if more := len(texts) - 5; more > 0 {
		texts = append(slices.Clone(texts[:5]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

var operators = map[corev1.NodeSelectorOperator]string{
	corev1.NodeSelectorOpGt: ">", corev1.NodeSelectorOpLt: "<", karpv1.NodeSelectorOpGte: ">=", karpv1.NodeSelectorOpLte: "<=",
}

// valuesOf lists the values that plans have for a label, each once.
func valuesOf(key string, all []*cloudprovider.InstanceType) (values []string) {
	key = scheduling.NewRequirement(key, corev1.NodeSelectorOpExists).Key // a label's older name is another spelling of it
	for _, it := range all {
		if requirement := it.Requirements.Get(key); requirement.Operator() == corev1.NodeSelectorOpIn {
			values = append(values, requirement.Values()...)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
