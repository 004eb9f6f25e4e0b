package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Result has the conditions and the status fields that Evaluate found.
type Result struct {
	// Mode the result is for.
	Mode v1alpha1.Mode
	// Conditions that Ready depends on in this mode, in the order of v1alpha1.ConditionTypes. Type, Status,
	// Reason and Message are set.
	Conditions []status.Condition
	// KubernetesVersion, Firewall and Images describe nodes that would be made now, empty where not resolved.
	KubernetesVersion string
	Firewall          *v1alpha1.Firewall
	Images            []v1alpha1.Image
	// Err joins the lookups that failed. The evaluation is to be repeated after a pause.
	Err error
}

// Ready reports whether all conditions are true.
func (r Result) Ready() bool {
	return r.firstUnhealthy() == nil
}

func (r Result) firstUnhealthy() *status.Condition {
	var unknown *status.Condition
	for i := range r.Conditions {
		switch r.Conditions[i].Status {
		case metav1.ConditionTrue:
		case metav1.ConditionFalse:
			return &r.Conditions[i]
		default:
			if unknown == nil {
				unknown = &r.Conditions[i]
			}
		}
	}
	return unknown
}

// Evaluate decides the conditions of a class in a cluster. With a nil Lookup (DISABLE_DRY_RUN) it reads nothing, and the conditions that
// need a read are true.
func Evaluate(ctx context.Context, class *v1alpha1.LinodeNodeClass, cluster Cluster, lookup Lookup) Result {
	e := evaluation{class: class, cluster: cluster, lookup: lookup, result: Result{Mode: cluster.Mode}}
	e.add(e.validation(ctx))
	e.add(e.kubernetesVersion())
	e.add(e.firewall(ctx))
	if cluster.Mode == v1alpha1.ModeClusterAPI {
		e.add(e.found(ctx, v1alpha1.ConditionMachineDeploymentsReady, cluster.MachineDeployments))
	}
	if cluster.Mode == v1alpha1.ModeInstance {
		e.add(e.found(ctx, v1alpha1.ConditionBootstrapReady, cluster.Bootstrap))
		e.add(e.region(ctx))
		e.add(e.image(ctx))
		e.add(e.network(ctx))
		e.add(e.placementGroups(ctx))
	}
	return e.result
}

type evaluation struct {
	class   *v1alpha1.LinodeNodeClass
	cluster Cluster
	lookup  Lookup
	result  Result
}

func (e *evaluation) add(condition status.Condition) {
	condition.Message = bounded(condition.Message, mostMessage)
	e.result.Conditions = append(e.result.Conditions, condition)
}

func (e *evaluation) firewall(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionFirewallReady
	if e.class.Spec.FirewallID == nil || e.cluster.Mode == v1alpha1.ModeClusterAPI {
		return isTrue(conditionType, v1alpha1.ReasonNotRequested, "")
	}
	id := *e.class.Spec.FirewallID
	// LKE's API has firewall_id on node pools of the Enterprise tier alone. If the firewall were ignored without a word, nodes that the
	// user believes to be protected would be open.
	if e.cluster.Mode == v1alpha1.ModeLKE && e.cluster.Tier == TierStandard {
		return isFalse(conditionType, v1alpha1.ReasonFirewallUnsupported,
			"spec.firewallID is %d, but node pools of an LKE Standard cluster take no firewall; "+
				"remove spec.firewallID, or use an LKE Enterprise cluster", id)
	}
	if e.lookup == nil {
		e.result.Firewall = &v1alpha1.Firewall{ID: id}
		return skipped(conditionType)
	}
	found, err := e.lookup.Firewall(ctx, id)
	if err != nil {
		known := e.class.Status.Firewall
		same := known != nil && known.ID == id
		condition := e.failed(conditionType, fmt.Sprintf("firewall %d", id), "firewall:read_only", err, same)
		if same && condition.IsTrue() {
			e.result.Firewall = known.DeepCopy()
		}
		return condition
	}
	if found == nil || found.Status == "deleted" {
		return isFalse(conditionType, v1alpha1.ReasonFirewallNotFound,
			"the account has no Cloud Firewall with ID %d; correct spec.firewallID or remove it", id)
	}
	label := bounded(found.Label, mostLabel)
	e.result.Firewall = &v1alpha1.Firewall{ID: id, Label: label}
	if found.Status == "disabled" {
		return isTrue(conditionType, v1alpha1.ReasonFirewallDisabled,
			fmt.Sprintf("firewall %d (%s) is disabled and filters nothing; enable it", id, label))
	}
	return isTrue(conditionType, conditionType, "")
}

func (e *evaluation) image(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionImageReady
	if e.class.Spec.ImageSelector != nil {
		return e.selectedImage(ctx)
	}
	id := e.class.Spec.Image
	if id == "" {
		id = v1alpha1.DefaultImage
	}
	if e.lookup == nil {
		e.result.Images = []v1alpha1.Image{{ID: id}}
		return skipped(conditionType)
	}
	found, err := e.lookup.Image(ctx, id)
	switch {
	case err != nil:
		known := e.class.Status.Images
		same := len(known) == 1 && known[0].ID == id
		condition := e.failed(conditionType, "image "+id, "images:read_only", err, same)
		if same && condition.IsTrue() {
			e.result.Images = slices.Clone(known)
		}
		return condition
	case found == nil:
		return isFalse(conditionType, v1alpha1.ReasonImageNotFound,
			"the account sees no image %q; correct spec.image", id)
	case !found.Available:
		return isFalse(conditionType, v1alpha1.ReasonImageUnsuitable,
			"image %q is not available yet; wait until it is uploaded, or choose another in spec.image", id)
	case !found.CloudInit:
		return isFalse(conditionType, v1alpha1.ReasonImageUnsuitable,
			"image %q does not support cloud-init, by which nodes join; choose another in spec.image", id)
	}
	label := bounded(found.Label, mostLabel)
	e.result.Images = []v1alpha1.Image{{ID: id, Label: label}}
	if found.Deprecated {
		return isTrue(conditionType, v1alpha1.ReasonImageDeprecated,
			fmt.Sprintf("image %q (%s) is deprecated and will be removed; choose a newer one in spec.image", id, label))
	}
	return isTrue(conditionType, conditionType, "")
}

// found returns the condition of a check that only one mode has.
func (e *evaluation) found(ctx context.Context, conditionType string,
	check func(context.Context, *v1alpha1.LinodeNodeClass) Finding) status.Condition {
	if check == nil {
		return isTrue(conditionType, v1alpha1.ReasonCheckSkipped, "")
	}
	found := check(ctx, e.class)
	if found.Reason == "" {
		return isTrue(conditionType, conditionType, "")
	}
	return status.Condition{Type: conditionType, Status: found.Status, Reason: found.Reason, Message: found.Message}
}

// failed returns the condition after a read of the Linode API that proves nothing about an object. The last answer stands if it was about
// the same object: the spec has not changed since, or same is true and the last condition was True. Callers pass same = true if the
// class's status shows the object that the spec names. A token without the scope for the object is an answer: the condition is False,
// with the reason Forbidden.
func (e *evaluation) failed(conditionType, object, scope string, err error, same bool) status.Condition {
	e.result.Err = errors.Join(e.result.Err, fmt.Errorf("reading %s: %w", object, err))
	if errors.Is(err, ErrForbidden) {
		return isFalse(conditionType, v1alpha1.ReasonForbidden,
			"the Linode API token may not read %s; give the token the scope %s, "+
				"or switch the checks off with DISABLE_DRY_RUN=true", object, scope)
	}
	if last := e.last(conditionType); last != nil && answered(last) &&
		(last.ObservedGeneration == e.class.Generation || same && last.IsTrue()) {
		return status.Condition{Type: conditionType, Status: last.Status, Reason: last.Reason, Message: last.Message}
	}
	return status.Condition{
		Type: conditionType, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCheckFailed,
		Message: fmt.Sprintf("could not read %s from the Linode API; the check is repeated", object),
	}
}

// last returns the condition as the class's status has it.
func (e *evaluation) last(conditionType string) *status.Condition {
	for i := range e.class.Status.Conditions {
		if e.class.Status.Conditions[i].Type == conditionType {
			return &e.class.Status.Conditions[i]
		}
	}
	return nil
}

// answered reports whether the condition is from an answer of the API about the object. Forbidden is not: it says nothing about the
// object.
func answered(condition *status.Condition) bool {
	return condition.IsTrue() || condition.IsFalse() && condition.Reason != v1alpha1.ReasonForbidden
}

func skipped(conditionType string) status.Condition {
	return isTrue(conditionType, v1alpha1.ReasonCheckSkipped, "not checked, since DISABLE_DRY_RUN is set")
}

func isTrue(conditionType, reason, message string) status.Condition {
	return status.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func isFalse(conditionType, reason, format string, args ...any) status.Condition {
	return status.Condition{
		Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}
