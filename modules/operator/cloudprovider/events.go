package cloudprovider

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// Reasons of events on a NodePool. Package launches has further ones. Core reports the same on the NodeClaim, which is gone soon
// afterwards.
const (
	EventNoCompatibleInstanceTypes = "NoCompatibleInstanceTypes" // no plan meets the NodePool or its NodeClaim, or no such plan can be bought
	EventPlanWithoutPrice          = "PlanWithoutPrice"          // the API lists no price of a plan that the NodePool would take
	EventNodeTooSmall              = "NodeTooSmall"              // a node has less than the pods need that it was made for
	EventNodesNeverJoin            = "NodesNeverJoin"            // nodes of a plan were launched and never joined
)

// How long an event of the same text on the same NodePool is left out, where nothing else sets the time.
const (
	eventSilence    = 30 * time.Minute
	unpricedSilence = 6 * time.Hour // it changes with a setting or with the price list alone
)

// publisher publishes events on NodePools; without a recorder it publishes none.
type publisher struct{ recorder events.Recorder }

// nothingToBuy reports on the NodePool why there is nothing to buy.
func (p publisher) nothingToBuy(nodePool *karpv1.NodePool, err error) {
	p.publish(nodePool, events.Event{Reason: EventNoCompatibleInstanceTypes, Message: err.Error(), DedupeTimeout: eventSilence})
}

func (p publisher) publish(nodePool *karpv1.NodePool, e events.Event) {
	if nodePool == nil || p.recorder == nil {
		return
	}
	e.InvolvedObject, e.Type, e.Message = nodePool, corev1.EventTypeWarning, printable.Message(e.Message)
	e.DedupeValues = append([]string{string(nodePool.UID), nodePool.Name}, e.DedupeValues...)
	p.recorder.Publish(e)
}
