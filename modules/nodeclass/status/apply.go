package status

import (
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Apply writes a result into the class's status, and reports whether anything changed. If nothing changed, the
// status and its times are the same as before, and need not be stored.
func Apply(class *v1alpha1.LinodeNodeClass, result Result, opts ...status.ForOption) bool {
	before := class.Status.DeepCopy()
	class.Status.KubernetesVersion = result.KubernetesVersion
	class.Status.Firewall = result.Firewall
	class.Status.Images = result.Images
	dropConditionsOfOtherMode(class, result.Mode)
	conditions := class.StatusConditionsFor(result.Mode, opts...)
	for _, condition := range result.Conditions {
		conditions.Set(condition)
	}
	setReady(conditions, result)
	keepTransitionTimes(before.Conditions, class.Status.Conditions)
	return !equal(before, &class.Status)
}

// keepTransitionTimes restores the time of a condition whose status is the same as before. After a change of the spec, the first
// condition that is set has a newer generation than the other conditions. The set then computes Ready as Unknown for a moment, and would
// write a new time.
func keepTransitionTimes(before, after []status.Condition) {
	for i := range after {
		for _, was := range before {
			if was.Type == after[i].Type && was.Status == after[i].Status {
				after[i].LastTransitionTime = was.LastTransitionTime
			}
		}
	}
}

// setReady gives Ready the reason and the message of the first condition that is not true. The set, which has computed Ready before, only
// names the conditions.
func setReady(conditions status.ConditionSet, result Result) {
	unhealthy := result.firstUnhealthy()
	if unhealthy == nil {
		conditions.SetTrue(status.ConditionReady)
		return
	}
	conditions.Set(status.Condition{
		Type: status.ConditionReady, Status: unhealthy.Status, Reason: unhealthy.Reason, Message: unhealthy.Message,
	})
}

// dropConditionsOfOtherMode removes the conditions of another mode from a class that was once reconciled
// in that mode: no controller would keep them up to date.
func dropConditionsOfOtherMode(class *v1alpha1.LinodeNodeClass, mode v1alpha1.Mode) {
	wanted := v1alpha1.ConditionTypes(mode)
	others := slices.Concat(v1alpha1.ConditionTypes(v1alpha1.ModeInstance), v1alpha1.ConditionTypes(v1alpha1.ModeClusterAPI))
	class.Status.Conditions = slices.DeleteFunc(class.Status.Conditions, func(c status.Condition) bool {
		return !slices.Contains(wanted, c.Type) && slices.Contains(others, c.Type)
	})
}

// equal compares two statuses without regard to the order of conditions, which has no meaning.
func equal(a, b *v1alpha1.LinodeNodeClassStatus) bool {
	sorted := func(s *v1alpha1.LinodeNodeClassStatus) *v1alpha1.LinodeNodeClassStatus {
		s = s.DeepCopy()
		slices.SortFunc(s.Conditions, func(a, b status.Condition) int { return strings.Compare(a.Type, b.Type) })
		return s
	}
	return equality.Semantic.DeepEqual(sorted(a), sorted(b))
}
