package decide

import (
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// watch looks for nodes that are on their way, for all keys together. It reads their pool. It reads one list if several pools wait for
// nodes, or if pools list their nodes late.
func (t supplier) watch() {
	running, next := t.known.Looking()
	if t.known.Coming() == 0 || running || t.wait(next) {
		return
	}
	nodes := min(t.known.Coming(), t.wanted())
	if nodes == 0 {
		return
	}
	for _, look := range t.looks() {
		target := known.TargetOf(look)
		if !t.busy(target) && !t.wait(t.known.Request(target).Until) {
			look.Look, look.Reason = nodes, "nodes are on their way"
			t.do(look)
		}
	}
}

// looks returns the readings that show nodes on their way: a list of instances, a pool, or a list of pools.
func (t supplier) looks() []event.Action {
	if t.limits.NodesLag {
		return []event.Action{{Op: event.OpListInstances}}
	}
	var looks []event.Action
	for p := range t.known.Pools() {
		if coming, _, _ := t.known.ComingTo(p); p.Ours() && coming > 0 && !t.known.Retired(p) && !p.Gone() && p.Record().Missing.IsZero() {
			looks = append(looks, event.Action{Op: event.OpGetPool, PoolID: p.ID()})
		}
	}
	if len(looks) > tuning.DirectPolls {
		return []event.Action{{Op: event.OpListPools}}
	}
	return looks
}

// wanted counts the claimants without an instance. Claimants that left lately and will return count, too.
func (t supplier) wanted() int {
	n := 0
	for claim := range t.callers.Claims() {
		if t.held(claim.ID()) == nil {
			n++
		}
	}
	return n
}
