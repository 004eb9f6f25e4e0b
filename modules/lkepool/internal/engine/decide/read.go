package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// reader chooses what to read, once for all callers that need it.
type reader struct {
	*turn
	// reading is how many single instances are being read.
	reading int
}

// countReads counts the instances that are being read.
func (r *reader) countReads() {
	r.reading = 0
	for _, n := range r.known.Nodes.Rows {
		if n.Direct.Busy {
			r.reading++
		}
	}
}

// readNode reads an instance directly unless one is under way or has to wait: after one
// that failed, or that was answered 404.
func (r *reader) readNode(n *belief.Node, reason string) {
	if n.Direct.Busy || r.reading >= tuning.ParallelReads || !r.ready(n.Direct.Due()) {
		return
	}
	r.reading++
	r.do(event.Action{Op: event.OpGetInstance, InstanceID: n.ID, Reason: reason})
}

// readPool does the same for a pool.
func (r *reader) readPool(p *belief.Pool, reason string) {
	if p.Direct.Busy || !r.ready(p.Direct.Retry.Until) {
		return
	}
	r.do(event.Action{Op: event.OpGetPool, PoolID: p.ID, Reason: reason})
}

// fresh reports whether a list that began at or after since was answered, and
// otherwise reads it.
func (r *reader) fresh(l *belief.List, op event.Op, since time.Time, reason string) bool {
	if !l.Began.IsZero() && !l.Began.Before(since) {
		return true
	}
	if !l.Busy && r.ready(l.Retry.Until) {
		r.do(event.Action{Op: op, Reason: reason})
	}
	return false
}

// freshPools is fresh for the list of pools, freshInstances for that of instances.
func (r *reader) freshPools(since time.Time, reason string) bool {
	return r.fresh(&r.known.PoolList, event.OpListPools, since, reason)
}

func (r *reader) freshInstances(since time.Time, reason string) bool {
	return r.fresh(&r.known.InstanceList, event.OpListInstances, since, reason)
}

// surveyed reports whether both lists were read since then.
func (r *reader) surveyed(since time.Time, reason string) bool {
	pools := r.freshPools(since, reason)
	return r.freshInstances(since, reason) && pools
}

// located reads a pool that an instance names, and lists have not shown. It reports
// whether that is over: reading it fails again and again, or two reads and a list after
// them lack it. That is no proof yet, because the pool may be younger than the list shows.
func (r *reader) located(id int) bool {
	p := r.known.Sought(id)
	switch {
	case p.Gone() || p.Direct.Busy:
	case p.Evidence.Twice():
		r.freshPools(p.Evidence.Since(), "reads of a pool are answered 404")
	case r.ready(belief.Latest(p.Direct.Retry.Until, p.Evidence.Since().Add(r.cfg.SettleTime))):
		r.do(event.Action{Op: event.OpGetPool, PoolID: id, Reason: "an instance names it, and no list shows it"})
	}
	lacks := p.Evidence.Twice() && !r.known.PoolList.Began.Before(p.Evidence.Since())
	return p.Gone() || p.Direct.Failing() || lacks
}

// verifyPool reads a pool that a list lacks or contradicts; a 404 has to be
// answered twice, and a list that began after that has to lack the pool.
func (r *reader) verifyPool(p *belief.Pool, reason string) {
	switch {
	case p.Evidence.Twice():
		r.readAgain(p)
	case !p.Evidence.Begun() || r.ready(p.Evidence.Since().Add(r.cfg.SettleTime)):
		r.readPool(p, reason)
	}
}

// readAgain reads what may still refute or complete the proof that a pool is gone.
func (r *reader) readAgain(p *belief.Pool) {
	since := belief.Latest(p.Evidence.Since(), p.Evidence.First.Add(r.cfg.ListLag))
	if r.ready(since) && r.freshPools(since, "reads of a pool are answered 404") &&
		r.ready(p.Direct.Ended.Add(tuning.VerifyAgain)) {
		r.readPool(p, "a list shows a pool that reads do not find")
	}
}

// prove reads what completes the proof that a node is gone, or refutes it: the node
// again, then the list of instances.
func (r *reader) prove(n *belief.Node) {
	switch {
	case !n.Evidence.Begun():
	case !n.Evidence.Twice():
		if r.ready(n.Evidence.Since().Add(r.cfg.SettleTime)) {
			r.readNode(n, "a 404 has to be answered twice")
		}
	default:
		since := belief.Latest(n.Evidence.Since(), n.Evidence.First.Add(r.cfg.ListLag))
		if r.ready(since) && r.freshInstances(since, "reads of an instance are answered 404") &&
			r.ready(n.Direct.Ended.Add(tuning.VerifyAgain)) {
			r.readNode(n, "a list shows an instance that reads do not find")
		}
	}
}

// readFailed ends a request whose look failed.
func (r *reader) readFailed(l belief.DirectRead, since time.Time) (bool, error) {
	if !l.Busy && l.Err != nil && !l.Tried.Before(since) {
		return true, l.Err
	}
	return false, nil
}
