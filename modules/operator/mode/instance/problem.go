package instance

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// problem is the reason why no Linode can be made from a class. The condition BootstrapReady has it, or the error of a launch.
type problem struct {
	reason, field, text string
	unknown             bool // the reason could not be found out, and may be gone soon
	err                 error
}

func (p *problem) Error() string { return p.field + ": " + p.text }

func (p *problem) Unwrap() error { return p.err }

// asFailure returns a problem as the error of a launch.
func asFailure(err error) error {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		return err
	}
	kind := claims.KindInvalid
	if p.unknown {
		kind = claims.KindUnavailable
	}
	return &claims.Error{Kind: kind, Op: "render user data", Field: p.field, Effect: claims.EffectNone, Err: errors.New(p.text)}
}

// secretProblem returns a problem that names the Secret and the missing right, but nothing of the content.
func secretProblem(field string, ref *v1alpha1.SecretKeyReference, err error) error {
	switch name := ref.Namespace + "/" + ref.Name; {
	case apierrors.IsNotFound(err):
		return &problem{reason: v1alpha1.ReasonSecretNotFound, field: field,
			text: fmt.Sprintf("Secret %s does not exist; create it, or correct the reference", name)}
	case apierrors.IsForbidden(err):
		return &problem{reason: v1alpha1.ReasonForbidden, field: field,
			text: fmt.Sprintf("the operator may not read the Secret %s; add it to the chart's settings.instance.secrets", name)}
	default:
		return &problem{reason: v1alpha1.ReasonCheckFailed, field: field,
			text: fmt.Sprintf("the Secret %s could not be read; trying again", name), unknown: true, err: err}
	}
}

// renderProblem returns a problem that names the field of the class whose value package bootstrap refuses.
func renderProblem(err error) error {
	text, field := err.Error(), "spec.bootstrap"
	if e, ok := errors.AsType[*bootstrap.Error](err); ok && e.Field == "Node.Kubelet.Extra" {
		text, field = e.Err.Error(), "spec.kubelet.extraConfig"
	} else if ok {
		text = fmt.Sprintf("%s: %s; correct it in the class, the NodePool's template or the settings", e.Field, e.Err)
	}
	return &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: field, text: text}
}
