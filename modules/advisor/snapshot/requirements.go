package snapshot

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// checkRequirements returns an error for a requirement that core's scheduler cannot read. Core takes the first value of Gt, Lt, Gte and
// Lte without a check, because the API server refuses a requirement without a value. A file may contain one.
func checkRequirements(object client.Object) error {
	switch o := object.(type) {
	case *corev1.Pod:
		return checkAffinity("spec", o.Spec.Affinity)
	case *appsv1.DaemonSet:
		return checkAffinity("spec.template.spec", o.Spec.Template.Spec.Affinity)
	case *corev1.PersistentVolume:
		if o.Spec.NodeAffinity != nil && o.Spec.NodeAffinity.Required != nil {
			return checkTerms("spec.nodeAffinity.required", o.Spec.NodeAffinity.Required.NodeSelectorTerms)
		}
	case *karpv1.NodePool:
		return checkExact("spec.template.spec.requirements", o.Spec.Template.Spec.Requirements)
	case *karpv1.NodeClaim:
		return checkExact("spec.requirements", o.Spec.Requirements)
	}
	return nil
}

func checkAffinity(field string, affinity *corev1.Affinity) error {
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	field += ".affinity.nodeAffinity"
	if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		if err := checkTerms(field+".requiredDuringSchedulingIgnoredDuringExecution", required.NodeSelectorTerms); err != nil {
			return err
		}
	}
	for i, preferred := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		name := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d].preference", field, i)
		if err := checkExpressions(name, preferred.Preference.MatchExpressions); err != nil {
			return err
		}
	}
	return nil
}

func checkTerms(field string, terms []corev1.NodeSelectorTerm) error {
	for i, term := range terms {
		if err := checkExpressions(fmt.Sprintf("%s.nodeSelectorTerms[%d]", field, i), term.MatchExpressions); err != nil {
			return err
		}
	}
	return nil
}

func checkExpressions(field string, expressions []corev1.NodeSelectorRequirement) error {
	for i, r := range expressions {
		if err := checkBound(fmt.Sprintf("%s.matchExpressions[%d]", field, i), r.Key, r.Operator, r.Values); err != nil {
			return err
		}
	}
	return nil
}

func checkExact(field string, requirements []karpv1.NodeSelectorRequirementWithMinValues) error {
	for i, r := range requirements {
		if err := checkBound(fmt.Sprintf("%s[%d]", field, i), r.Key, r.Operator, r.Values); err != nil {
			return err
		}
	}
	return nil
}

// bounds are the operators that compare with one number.
var bounds = []corev1.NodeSelectorOperator{corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, karpv1.NodeSelectorOpGte,
	karpv1.NodeSelectorOpLte}

func checkBound(field, key string, operator corev1.NodeSelectorOperator, values []string) error {
	if !slices.Contains(bounds, operator) {
		return nil
	}
	if len(values) == 1 {
		if _, err := strconv.Atoi(values[0]); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: the operator %s of the key %q has the values %.100q; it takes one whole number, such as [\"4\"]", field, operator,
		key, values)
}
