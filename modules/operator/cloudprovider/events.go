package cloudprovider

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// Reasons of events on a NodePool. Package launches has further reasons. Core reports the same facts on the NodeClaim, but core deletes
// the NodeClaim soon afterwards.
const (
	EventNoCompatibleInstanceTypes = "NoCompatibleInstanceTypes" // no plan meets the NodePool or its NodeClaim, or no such plan can be bought
	EventPlanWithoutPrice          = "PlanWithoutPrice"          // the API lists no price of a plan that the NodePool would take
	EventNodeTooSmall              = "NodeTooSmall"              // a node cannot hold the pods for which it was made
	EventNodesNeverJoin            = "NodesNeverJoin"            // nodes of a plan were launched and never joined
)

// Times for which the same event on the same NodePool is not published again. Events of package launches, and NodeTooSmall, have other
// times.
const (
	eventSilence    = 30 * time.Minute
	unpricedSilence = 6 * time.Hour // only a new setting or price list changes the fact
)

// publisher publishes events on NodePools. Without a recorder it publishes no events.
type publisher struct{ recorder events.Recorder }

// nothingToBuy publishes an event on the NodePool with the reason why no plan can be bought.
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
