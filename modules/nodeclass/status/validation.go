package status

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// problem is the reason why a class cannot work in this cluster.
type problem struct {
	reason, message string
}

// validation judges the spec with the cluster's facts, and without the Linode API. The first problem gives the reason. The message names
// all problems, so that a user can correct them together.
func (e *evaluation) validation(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionValidationSucceeded
	problems := tagProblems(e.class.Spec.Tags)
	if p := e.versionProblem(); p != nil {
		problems = append(problems, *p)
	}
	if p := e.isolationProblem(); p != nil {
		problems = append(problems, *p)
	}
	if len(problems) == 0 {
		if fields := e.fieldsWithoutEffect(ctx); len(fields) > 0 {
			return isTrue(conditionType, v1alpha1.ReasonFieldsWithoutEffect,
				fmt.Sprintf("these fields of spec have no effect in %s mode: %s", e.cluster.Mode, strings.Join(fields, ", ")))
		}
		return isTrue(conditionType, conditionType, "")
	}
	messages := make([]string, 0, len(problems))
	for _, p := range problems {
		messages = append(messages, p.message)
	}
	return isFalse(conditionType, problems[0].reason, "%s", strings.Join(messages, "; "))
}

func tagProblems(tags []string) []problem {
	var problems []problem
	for _, tag := range tags {
		var wrong string
		length := utf8.RuneCountInString(tag)
		switch {
		case v1alpha1.IsRestrictedTag(tag):
			wrong = "has a key that is managed by Karpenter, this provider or LKE"
		case length < v1alpha1.TagMinLength || length > v1alpha1.TagMaxLength:
			wrong = fmt.Sprintf("has %d characters, and Linode takes %d to %d",
				length, v1alpha1.TagMinLength, v1alpha1.TagMaxLength)
		default:
			continue
		}
		problems = append(problems, problem{v1alpha1.ReasonTagValidationFailed,
			fmt.Sprintf("tag %q %s; remove it from spec.tags or choose another", tag, wrong)})
	}
	return problems
}

// versionProblem judges lkeK8sVersion. Only on the Enterprise tier do node pools have a version of their own, and a pool cannot be newer
// than its control plane. Nodes of an older version would be replaced at the next upgrade, so the class must name the control plane's
// version.
func (e *evaluation) versionProblem() *problem {
	version := e.class.Spec.LKEK8sVersion
	if version == "" {
		return nil
	}
	if e.cluster.Mode != v1alpha1.ModeLKE {
		return &problem{v1alpha1.ReasonLKEK8sVersionUnsupported, fmt.Sprintf(
			"spec.lkeK8sVersion is %q, but in %s mode nodes are not made by LKE; remove spec.lkeK8sVersion",
			version, e.cluster.Mode)}
	}
	if e.cluster.Tier != TierEnterprise {
		return &problem{v1alpha1.ReasonLKEK8sVersionUnsupported, fmt.Sprintf(
			"spec.lkeK8sVersion is %q, but nodes of an LKE Standard cluster always run the cluster's version; "+
				"remove spec.lkeK8sVersion", version)}
	}
	if e.cluster.ControlPlaneVersion != "" && strings.TrimPrefix(version, "v") != strings.TrimPrefix(e.cluster.ControlPlaneVersion, "v") {
		return &problem{v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch, fmt.Sprintf(
			"spec.lkeK8sVersion is %q, but the control plane runs %q; set spec.lkeK8sVersion to that, or remove it",
			version, e.cluster.ControlPlaneVersion)}
	}
	return nil
}

// isolationProblem judges isolation. A rule of the CRD could not, because the API server does not know the tier. Linode's Terraform
// provider refuses isolation outside of the Enterprise tier; what the Linode API answers is not known.
func (e *evaluation) isolationProblem() *problem {
	if e.class.Spec.Isolation == nil || e.cluster.Mode != v1alpha1.ModeLKE || e.cluster.Tier == TierEnterprise {
		return nil
	}
	return &problem{v1alpha1.ReasonIsolationUnsupported, "spec.isolation is set, but only nodes of an LKE Enterprise cluster can be without " +
		"public addresses, and this is an LKE Standard cluster; remove spec.isolation"}
}

func (e *evaluation) kubernetesVersion() status.Condition {
	const conditionType = v1alpha1.ConditionKubernetesVersionReady
	if p := e.versionProblem(); p != nil {
		return isFalse(conditionType, p.reason, "%s", p.message)
	}
	wanted := e.cluster.ControlPlaneVersion
	if e.cluster.Mode == v1alpha1.ModeInstance {
		var p *problem
		if wanted, p = e.instanceVersion(); p != nil {
			return isFalse(conditionType, p.reason, "%s", p.message)
		}
	}
	if e.cluster.ControlPlaneVersion == "" {
		// The operator makes nodes with the version in the status, and compares nodes with it. Without a version, new nodes would come
		// into another pool.
		if last := e.last(conditionType); last != nil && last.IsTrue() && e.pinnedTo(e.class.Status.KubernetesVersion) {
			e.result.KubernetesVersion = e.class.Status.KubernetesVersion
			return isTrue(conditionType, last.Reason, last.Message)
		}
		return status.Condition{
			Type: conditionType, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCheckFailed,
			Message: "the version of the control plane could not be read; the check is repeated",
		}
	}
	e.result.KubernetesVersion = wanted
	return isTrue(conditionType, conditionType, "")
}

// pinnedTo reports whether the class sets no version or this one.
func (e *evaluation) pinnedTo(version string) bool {
	pin := e.class.Spec.LKEK8sVersion
	return version != "" && (pin == "" || strings.TrimPrefix(pin, "v") == strings.TrimPrefix(version, "v"))
}

// fieldsWithoutEffect returns the names of the set fields that have no effect: the mode does not use them, or another field overrides
// them.
func (e *evaluation) fieldsWithoutEffect(ctx context.Context) []string {
	spec := e.class.Spec
	names := spec.WithoutEffect(e.cluster.Mode)
	if e.cluster.Mode != v1alpha1.ModeInstance {
		return names
	}
	switch {
	case spec.IPv6Options == nil || spec.IPv6InVPC() != nil:
	case len(spec.IPv6OnPublic()) == 0:
		names = append(names, "ipv6Options (it needs enableRanges, or an interface in a VPC and enableSLAAC)")
	case e.cluster.LinodeInterfaces == nil || !e.cluster.LinodeInterfaces(ctx):
		names = append(names, "ipv6Options (a public interface takes ranges only if the account makes new Linodes with Linode interfaces, "+
			"which the operator reads with the scope account:read_only; or use an interface in a VPC)")
	}
	return names
}
