package known

import (
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Start notes that an effect begins, and completes it with its term and the time until
// which it may be sent.
func (b *Known) Start(e *event.Effect) {
	e.Term = b.Term
	switch e.Op {
	case event.OpList:
		b.World.List.Running = true
	case event.OpRead:
		r := b.World.Reading(e.ID)
		r.Running, r.Tried = true, b.Now
	case event.OpFind:
		b.Purchases.Of(e.Who, e.Text).Search.Running = true
	case event.OpCreate:
		e.NotAfter = b.Now.Add(tuning.CreateWithin)
		b.Pace.send()
		p := b.Purchases.Of(e.Who, e.Order.Label)
		p.Busy, p.InstanceType = true, e.Order.InstanceType
	default:
		b.Busy[e.ID] = true
		if e.Op.Write() {
			e.NotAfter = b.Now.Add(tuning.SendWithin)
		}
	}
}
