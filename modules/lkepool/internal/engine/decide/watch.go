package decide

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// watcher reads for nodes that are on their way, for all keys together.
type watcher struct {
	*reader
	running     bool
	began, next time.Time
	// pools are read one by one; none means that a list is read.
	pools []*belief.Pool
	pace  plan.Pace
}

// firstRead is how long after a purchase the first look for it is.
func (w *watcher) firstRead() time.Duration { return min(w.cfg.RetryDelay, tuning.FirstReadAfter) }

// grown follows a purchase that succeeded. A look for earlier ones that is due before is not
// put off.
func (w *watcher) grown() {
	w.pace.Restart()
	if first := w.now.Add(w.firstRead()); !w.next.After(w.now) || first.Before(w.next) {
		w.next = first
	}
}

// onTheirWay counts the nodes that are, also those whose claimants are between
// two calls: otherwise each that comes back would look like a new purchase.
func (w *watcher) onTheirWay() int {
	n := 0
	for _, p := range w.known.Pools.Rows {
		n += w.known.OnTheirWay(p)
	}
	return n
}

// watch reads whether capacity has arrived, at growing distances.
func (w *watcher) watch(pending int) {
	if pending == 0 {
		w.running = false
		return
	}
	if w.running && w.polled() {
		w.running = false
		// Reads of one pool are less scarce than lists.
		w.pace.Dense, w.pace.Near = len(w.pools) > 0, tuning.NearList
		if w.pace.Dense {
			w.pace.Near = tuning.NearRead
		}
		w.next = w.began.Add(w.pace.Next(w.now, pending, w.cfg.RetryDelay))
	}
	if w.running || !w.ready(w.next) {
		return
	}
	w.running, w.began, w.pools = true, w.now, nil
	if w.limits.NodesLag {
		w.freshInstances(w.now, "nodes are on their way")
		return
	}
	for _, p := range w.known.Pools.Rows {
		if w.known.OnTheirWay(p) > 0 {
			w.pools = append(w.pools, p)
		}
	}
	if len(w.pools) > tuning.DirectPolls {
		w.pools = nil
		w.freshPools(w.now, "nodes are on their way")
	}
	for _, p := range w.pools {
		w.readPool(p, "nodes are on their way")
	}
}

// polled reports whether the running poll has ended.
func (w *watcher) polled() bool {
	if w.limits.NodesLag {
		return !w.known.InstanceList.Busy
	}
	if len(w.pools) == 0 {
		return !w.known.PoolList.Busy
	}
	return !slices.ContainsFunc(w.pools, func(p *belief.Pool) bool { return p.Direct.Busy })
}
