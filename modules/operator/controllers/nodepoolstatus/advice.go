package nodepoolstatus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// Reasons of events about NodePools that core accepts or ignores without an event.
const (
	EventUnknownNodeClass     = "UnknownNodeClass"     // nodeClassRef has a kind that this provider does not serve
	EventLabelOfOtherProvider = "LabelOfOtherProvider" // a requirement names a label of another cloud's provider
	EventNoLimits             = "NoLimits"             // neither the NodePool nor a setting bounds its purchases
	EventNodePoolNotReady     = "NodePoolNotReady"     // the NodePool gets no nodes until a condition is true
)

const (
	// reminder is the time between two events about the same lasting cause. The API server keeps events for an hour.
	reminder = 30 * time.Minute
	// settling is the time for which a NodePool may be not ready without an event: a NodePool that is applied together with its class is
	// not ready at first.
	settling = 10 * time.Second
)

// warn publishes an event about a NodePool. It publishes an event with the same text again only after reminder.
func (c *Controller) warn(nodePool *karpv1.NodePool, reason, message string) {
	c.recorder.Publish(events.Event{
		InvolvedObject: nodePool, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		DedupeValues: []string{string(nodePool.UID), nodePool.Name, message}, DedupeTimeout: reminder,
	})
}

// unserved returns a message about a nodeClassRef of a kind that this provider does not serve. It returns "" if the condition
// NodeClassReady shows that another provider serves the NodePool.
func unserved(nodePool *karpv1.NodePool) string {
	ref := nodePool.Spec.Template.Spec.NodeClassRef
	if ready := observed(nodePool).Get(karpv1.ConditionTypeNodeClassReady); ref == nil || !ready.IsUnknown() {
		return ""
	}
	return fmt.Sprintf("spec.template.spec.nodeClassRef has group %q and kind %q, and this Karpenter serves group %q and kind %q only, so "+
		"the NodePool gets no nodes: "+
		"delete the NodePool and create it with this group and kind, because these fields are immutable", ref.Group, ref.Kind, v1alpha1.Group,
		v1alpha1.Kind)
}

// labelsOfOtherProviders returns a message for each requirement on a label of another cloud's provider.
func labelsOfOtherProviders(nodePool *karpv1.NodePool) (messages []string) {
	for _, selector := range nodePool.Spec.Template.Spec.Requirements {
		ours, elsewhere := requirement.Equivalent(selector.Key)
		if !elsewhere {
			continue
		}
		advice := "no label of this provider means the same: remove the requirement"
		if ours != "" {
			advice = "use " + ours
		}
		messages = append(messages, fmt.Sprintf("the requirement %s has no effect on plans, because its label belongs to another "+
			"provider; %s", requirement.Text(selector), advice))
	}
	return messages
}

// notReady returns why a NodePool is not ready, and the time until the next look. It returns no message for a NodePool that became not
// ready less than settling ago, and the rest of settling as the time.
func (c *Controller) notReady(ctx context.Context, nodePool *karpv1.NodePool) (message string, again time.Duration, err error) {
	ready := observed(nodePool).Root()
	if !ready.IsFalse() {
		return "", interval, nil
	}
	if left := settling - time.Since(ready.LastTransitionTime.Time); left > 0 {
		return "", left, nil
	}
	var reasons []string
	for _, conditionType := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady} {
		if condition := observed(nodePool).Get(conditionType); condition.IsFalse() {
			reasons = append(reasons, fmt.Sprintf("%s is false, %s: %s", condition.Type, condition.Reason, condition.Message))
		}
	}
	hint, err := c.otherClasses(ctx, nodePool.Spec.Template.Spec.NodeClassRef.Name)
	return "the NodePool gets no nodes: " + strings.Join(reasons, "; ") + hint, interval, err
}

// otherClasses returns a sentence with the names of existing LinodeNodeClasses if the class of a NodePool does not exist, "" if it exists.
func (c *Controller) otherClasses(ctx context.Context, name string) (string, error) {
	list := &v1alpha1.LinodeNodeClassList{}
	if err := c.kube.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing LinodeNodeClasses: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	similar := requirement.Similar([]string{name}, names)
	switch {
	case slices.Contains(names, name):
		return "", nil
	case len(similar) > 0:
		return fmt.Sprintf(". LinodeNodeClass %s does not exist. Similar: %s", name, strings.Join(similar, ", ")), nil
	case len(names) > 0:
		return fmt.Sprintf(". LinodeNodeClass %s does not exist. The cluster has: %s", name, strings.Join(names[:min(len(names), 5)], ", ")), nil
	}
	return fmt.Sprintf(". LinodeNodeClass %s does not exist; the cluster has no LinodeNodeClass", name), nil
}

// observed returns the stored conditions. Without the option WithObservedOnly, core adds an Unknown condition for each missing condition.
func observed(nodePool *karpv1.NodePool) status.ConditionSet {
	return nodePool.StatusConditions(status.WithObservedOnly())
}
