package instance

import (
	"errors"
	"fmt"
	"sync"

	"github.com/samber/lo"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// nodeOf is a Linode in the words that both modes share.
func nodeOf(i instances.Instance) lkepool.Node {
	node := lkepool.Node{
		InstanceID: i.ID, Name: i.Label, InstanceType: i.Plan, Region: i.Region, Status: i.Status, Claim: i.Claim, Created: i.Created,
		Tags: i.Tags,
	}
	switch i.Health {
	case instances.Stopped:
		node.Health = lkepool.Stopped
	case instances.Deleting:
		node.Health = lkepool.Deleting
	}
	return node
}

// seen has what lkepool has no word for of each Linode that was handed out, as it was last read: its image, placement group and region.
type seen struct {
	mu        sync.Mutex
	instances map[int]instances.Instance
}

func (s *seen) node(i instances.Instance) lkepool.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instances == nil {
		s.instances = map[int]instances.Instance{}
	}
	s.instances[i.ID] = i
	return nodeOf(i)
}

// nodes forgets what the list does not contain.
func (s *seen) nodes(all []instances.Instance) []lkepool.Node {
	nodes, fresh := make([]lkepool.Node, 0, len(all)), make(map[int]instances.Instance, len(all))
	for _, i := range all {
		fresh[i.ID] = i
		nodes = append(nodes, nodeOf(i))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = fresh
	return nodes
}

func (s *seen) get(id int) (instances.Instance, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.instances[id]
	return i, ok
}

// fields has the field of lkepool's errors that package cloudprovider looks at, by that of instances' errors.
var fields = map[string]string{
	"Spec.Plan":           "type",
	"Config.MaxInstances": lkepool.FieldMaxNodes,
}

// failure is an error of instances in lkepool's words: both have the same kinds. Nil stays nil.
func failure(err error) error {
	e, ok := errors.AsType[*instances.Error](err)
	if !ok {
		return err
	}
	cause := e.Err
	if e.InstanceID != 0 {
		cause = fmt.Errorf("instance %d: %w", e.InstanceID, e.Err)
	}
	return &lkepool.Error{Kind: lkepool.Kind(e.Kind), Op: e.Op, Field: lo.ValueOr(fields, e.Field, e.Field), RetryAfter: e.RetryAfter,
		Effect: lkepool.Effect(e.Effect), Err: cause}
}

// problem is why no Linode can be made from a class: the condition BootstrapReady has it, and a launch that finds it.
type problem struct {
	reason, field, text string
	unknown             bool // it could not be found out, and may be well in a moment
	err                 error
}

func (p *problem) Error() string { return p.field + ": " + p.text }

func (p *problem) Unwrap() error { return p.err }

// asFailure is a problem as the error of a launch.
func asFailure(err error) error {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		return err
	}
	kind := lkepool.KindInvalid
	if p.unknown {
		kind = lkepool.KindUnavailable
	}
	return &lkepool.Error{Kind: kind, Op: "render user data", Field: p.field, Effect: lkepool.EffectNone, Err: errors.New(p.text)}
}

// secretProblem names the Secret and the right, and nothing of the content.
func secretProblem(field string, ref *v1alpha1.SecretKeyReference, err error) error {
	switch name := ref.Namespace + "/" + ref.Name; {
	case apierrors.IsNotFound(err):
		return &problem{reason: v1alpha1.ReasonSecretNotFound, field: field,
			text: fmt.Sprintf("there is no Secret %s; make it, or correct the reference", name)}
	case apierrors.IsForbidden(err):
		return &problem{reason: v1alpha1.ReasonForbidden, field: field,
			text: fmt.Sprintf("the operator may not read the Secret %s; add it to the chart's settings.instance.secrets", name)}
	default:
		return &problem{reason: v1alpha1.ReasonCheckFailed, field: field,
			text: fmt.Sprintf("the Secret %s could not be read; trying again", name), unknown: true, err: err}
	}
}

// renderProblem names the field of the class behind a value that package bootstrap refuses.
func renderProblem(err error) error {
	text := err.Error()
	if e, ok := errors.AsType[*bootstrap.Error](err); ok {
		text = fmt.Sprintf("%s: %s; correct it in the class, the NodePool's template or the settings", e.Field, e.Err)
	}
	return &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: "spec.bootstrap", text: text}
}

// Action is the end of a request in lkepool's words, for metrics.
func Action(end instances.ActionEnd) lkepool.ActionEnd {
	action := lkepool.ActionEnd{
		Op: end.Op, Reason: end.Reason, InstanceType: end.Plan, InstanceID: end.InstanceID, Duration: end.Duration, Err: failure(end.Err),
	}
	if end.Plan != "" && end.Err == nil { // of a creation alone
		action.Bought, action.Claimed = 1, 1
	}
	return action
}
