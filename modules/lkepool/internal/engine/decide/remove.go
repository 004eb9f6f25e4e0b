package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// remover removes nodes, and pools with their last one.
type remover struct{ *reader }

// remove takes an instance out of its pool by name. It is called until it is
// done: the removal was accepted, or an attempt since then failed.
func (r *remover) remove(n *belief.Node, since time.Time, reason string) (bool, error) {
	switch {
	case n.State == lkepool.Leaving || !n.Removed.IsZero() && r.now.Sub(n.Removed) < tuning.RemovalResend:
		return true, nil
	case n.Removal.Busy || r.settling():
		return false, nil
	case n.Removal.Err != nil && !n.Removal.Failed.Before(since):
		return true, n.Removal.Err
	case n.Written() || n.Phase == belief.Reserved:
		return false, nil
	}
	p, known := r.known.Pools.Get(n.Home)
	if !known {
		return true, r.unlisted(n)
	}
	return r.removeFrom(p, n, since, reason)
}

// removeFrom goes on with the removal as far as the pool lets it.
func (r *remover) removeFrom(p *belief.Pool, n *belief.Node, since time.Time, reason string) (bool, error) {
	switch {
	case p.Phase >= belief.Doomed:
		r.dropAgain(p)
		return false, nil
	case p.Writes.Growing() || p.Writes.Dropping || p.Writes.Removing >= tuning.ParallelRemovals:
		return false, nil
	case !r.readForRemoval(p, n.Removed, "look before removing"):
		if p.Evidence.Twice() && r.known.PoolList.FailedSince(since) {
			return true, r.known.PoolList.Err
		}
		return r.readFailed(p.Direct, since)
	case n.Slot == "":
		return true, r.unlisted(n)
	}
	return r.take(p, n, reason)
}

// readForRemoval reports whether the pool was read right before. What own
// removals did to it meanwhile is known.
func (r *remover) readForRemoval(p *belief.Pool, after time.Time, reason string) bool {
	if r.lately(p.Direct) && !p.Direct.Began.Before(p.Writes.Grown) &&
		!p.Direct.Began.Before(after) && p.Writes.Unsure.IsZero() && !p.Evidence.Begun() {
		return true
	}
	switch {
	case !p.Writes.Unsure.IsZero() && !r.ready(p.Writes.Unsure.Add(r.cfg.SettleTime)):
	case p.Evidence.Begun():
		r.verifyPool(p, "a 404 has to be answered twice")
	default:
		r.readPool(p, reason)
	}
	return false
}

// unlisted is the error about an instance that no pool lists, so that there is
// no name to remove it by.
func (r *remover) unlisted(n *belief.Node) error {
	return &claims.Error{Kind: claims.KindProvisioning, Op: "remove node", Object: claims.Object("pool", n.Home), Effect: claims.EffectNone,
		Err: fmt.Errorf("no pool lists instance %d, so it cannot be removed by name", n.ID)}
}

// take removes one node of a pool that was read right before, the last one with
// its pool. Never is a count lowered by number: LKE would choose who goes.
func (r *remover) take(p *belief.Pool, n *belief.Node, reason string) (bool, error) {
	switch remaining := p.Count - p.Writes.Removing; {
	case remaining > 1:
		r.do(event.Action{Op: event.OpRemove, PoolID: p.ID, NodeID: n.Slot, InstanceID: n.ID, Reason: reason})
		return false, nil
	case p.Writes.Removing > 0:
		return false, nil
	case r.last(p, n) && r.wanted(p):
		// The node goes with its pool, and what waiting claimants need will be
		// added to that pool first.
		return false, nil
	case r.inherited(p):
		return false, nil
	case !r.last(p, n) || !p.Direct.Agrees:
		if r.now.Sub(p.Direct.Ended) < tuning.VerifyAgain/2 {
			r.at(p.Direct.Ended.Add(tuning.VerifyAgain / 2))
			return false, nil
		}
		return true, &claims.Error{Kind: claims.KindProvisioning, Op: "remove node", Object: claims.Object("pool", p.ID),
			Effect: claims.EffectNone,
			Err:    fmt.Errorf("the pool has count %d and lists %d nodes; it has not settled", p.Count, len(p.KnownSlots))}
	}
	r.do(event.Action{Op: event.OpDrop, PoolID: p.ID, InstanceID: n.ID, Reason: reason + "; the last node goes with its pool"})
	return false, nil
}

// last reports whether the node is all that its pool has and is to have.
func (r *remover) last(p *belief.Pool, n *belief.Node) bool {
	for _, s := range p.KnownSlots {
		if other, known := r.known.Nodes.Get(s.InstanceID); s.InstanceID != n.ID &&
			(!known || other.Removed.IsZero() || other.Removal.Listed) {
			return false
		}
	}
	return !slices.ContainsFunc(r.known.Members(p.ID), func(other *belief.Node) bool { return other != n })
}

// finishRemovals repeats removals whose effect is not known.
func (r *remover) finishRemovals() {
	for _, p := range r.known.Pools.Rows {
		if p.Phase >= belief.Doomed {
			r.dropAgain(p)
		}
	}
	for _, n := range r.known.Nodes.Rows {
		if n.Phase == belief.Condemned && !n.Removal.Busy && n.Present() && r.ready(n.Removal.Retry.Until) {
			_, _ = r.remove(n, r.now, "its removal was not answered") // a failure is repeated
		}
	}
}

// dropAgain repeats the deletion of a condemned pool: at once if none was accepted,
// and otherwise if a direct read shows the pool a minute later.
func (r *remover) dropAgain(p *belief.Pool) {
	resend := p.Removed.Add(tuning.RemovalResend)
	switch {
	case p.Writes.Dropping || r.settling() || !r.ready(p.Writes.Retry.Until):
		return
	case p.Evidence.Begun():
		r.verifyPool(p, "reads of a pool are answered 404")
		return
	case p.Removed.IsZero():
	case !r.ready(resend):
		return
	case p.Direct.Began.Before(resend):
		r.readPool(p, "its deletion was accepted, and it may still be there")
		return
	}
	r.do(event.Action{Op: event.OpDrop, PoolID: p.ID, Reason: "the pool is still there after it was to be deleted"})
}
