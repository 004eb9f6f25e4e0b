package decide

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// orphanNodes returns the instances that no claimant needs. The caller then agrees to their removal.
func (t sweeper) orphanNodes(alive []claims.Claimant) []lkepool.Node {
	exists := t.existing(alive)
	var nodes []lkepool.Node
	for n := range t.known.Nodes() {
		if t.orphan(n, exists) {
			nodes = append(nodes, t.known.Describe(n))
		}
	}
	return nodes
}

// existing returns a test for claimants that exist, or wait.
func (t sweeper) existing(alive []claims.Claimant) func(claims.ClaimID) bool {
	tags := t.known.Tags()
	byValue := map[string][]claims.ClaimID{}
	for _, claimant := range alive {
		id := tags.ID(claimant)
		byValue[id.Value] = append(byValue[id.Value], id)
	}
	return func(who claims.ClaimID) bool {
		return slices.ContainsFunc(byValue[who.Value], who.Is) || t.callers.Of(who) != nil
	}
}

// orphan reports whether an instance may be collected. It has no claimant, or its claimant does not exist, or its claimant
// has another instance, and this process has seen that for longer than OrphanTTL. An instance that the records of the
// caller name is no orphan.
func (t sweeper) orphan(n *known.Node, exists func(claims.ClaimID) bool) bool {
	if !t.removable(n) {
		return false
	}
	if _, stored := t.known.Stored(n.ID()); stored {
		return false
	}
	switch c := n.Claim(); {
	case c.Held() && !exists(c.Claimant):
		return t.old(c.Since)
	case c.Held():
		kept := t.held(c.Claimant)
		return kept != nil && kept != n && t.old(c.Since) && t.old(kept.Claim().Since)
	case c.Source == record.None:
		return !t.wait(t.known.LateShown()) && t.old(n.First()) && t.surplus(n)
	}
	return false
}

// removable reports whether an instance is ours, exists, and is not being removed already.
func (t sweeper) removable(n *known.Node) bool {
	r := n.Record()
	if !t.known.Owned(n) || !n.Identified() || r.Value.State == lkepool.Leaving || t.busy(tagsOf(n.ID())) {
		return false
	}
	if !r.Gone.IsZero() || !r.Missing.IsZero() {
		return false
	}
	return r.Removed.IsZero() || t.now.Sub(r.Removed) >= tuning.RemovalResend && t.listed(n)
}

// old reports whether a time is OrphanTTL ago.
func (t sweeper) old(since time.Time) bool { return t.now.Sub(since) > t.cfg.OrphanTTL }

// surplus reports whether the claimants of its key do not need a free instance. Claimants that left lately and will return count, too. An
// instance that cannot be handed out, for example of an edited pool, serves no claimant.
func (t sweeper) surplus(n *known.Node) bool {
	p, shown := t.known.Pool(n.Home())
	if !shown || t.known.Health(n) != claims.Healthy || !n.Record().Removing.IsZero() ||
		t.known.Hopeless(n) && t.now.Sub(n.First()) > t.cfg.PendingTimeout {
		return true
	}
	wanted, before := 0, 0
	var key lkepool.Key
	for claim := range t.callers.Claims() {
		if claim.Hash() == p.Hash() && t.held(claim.ID()) == nil {
			key = claim.Request().Key
			wanted++
		}
	}
	usable, _ := t.known.PoolsOf(key, p.Hash())
	if wanted == 0 || !slices.Contains(usable, p) {
		return true
	}
	for _, q := range usable {
		for other := range t.known.Homed(q.ID()) {
			if t.free(other) && t.handOut(other, n) < 0 {
				before++
			}
		}
	}
	return before >= wanted
}

// evict removes the instances that the caller agreed to and that are still orphans, and then empty slots and pools.
func (t sweeper) evict(r *callers.Request) {
	var collected claims.Collected
	var errs []error
	exists := t.existing(r.Ask().Alive)
	all := true
	for _, id := range r.Ask().Orphans {
		n, ok := t.known.Node(id)
		if !ok {
			continue
		}
		if removed := n.Record().Removed; !removed.IsZero() && !removed.Before(r.Since()) {
			collected.Removed = append(collected.Removed, t.known.Describe(n).Node)
			continue
		}
		done, err := t.evictNode(r, n, exists)
		all = all && done
		if err != nil && claims.KindOf(err) != claims.KindProvisioning {
			errs = append(errs, err)
		}
	}
	slots, tidy := t.tidy(r, all)
	if !all || !tidy {
		return
	}
	collected.Slots = slots
	for p := range t.known.Pools() {
		if removed := p.Record().Removed; p.Ours() && !removed.IsZero() && !removed.Before(r.Since()) {
			collected.Pools = append(collected.Pools, strconv.Itoa(p.ID()))
			collected.Slots = append(collected.Slots, p.Vacant(t.now)...)
		}
	}
	t.reply(r, event.Answer{Collected: collected, Err: errors.Join(errs...)})
}

// evictNode takes the next step of the removal of one orphan, and reports whether the removal has ended. A tag announces the removal
// before it is sent, so that the next process does not hand out an instance that the removal may still take away.
func (t sweeper) evictNode(r *callers.Request, n *known.Node, exists func(claims.ClaimID) bool) (done bool, err error) {
	rec := n.Record()
	removing := !rec.Removing.IsZero()
	switch {
	case t.busy(tagsOf(n.ID())):
		return false, nil
	case removing:
		return t.remove(n, r.Since(), "collected: no claimant")
	case !t.orphan(n, exists):
		return true, nil
	case t.failed(tagsOf(n.ID()), r.Since()) != nil:
		return true, t.failed(tagsOf(n.ID()), r.Since())
	case t.settling() || t.wait(t.known.Request(tagsOf(n.ID())).Until):
		return false, nil
	}
	if _, shown := t.known.Pool(n.Home()); !shown || t.known.Detached(n) {
		return true, nil // no pool lists it, so its node ID is not known
	}
	if t.seenNode(n) {
		t.do(event.Action{Op: event.OpMark, InstanceID: n.ID(), PoolID: n.Home(), Reason: "no claimant: it is to be removed",
			Tags: t.known.Tags().RemovingTags(n.Value().Tags)})
		return false, nil
	}
	read := t.known.Request(instance(n.ID()))
	if read.Busy == 0 && !read.Began.Before(r.Since()) && read.Err != nil {
		if claims.KindOf(read.Err) == claims.KindNotFound {
			return true, nil // a later sweep proves that it is gone
		}
		return true, read.Err
	}
	t.readNode(n, "look before collecting")
	return false, nil
}

// tidy removes slots that no instance has taken for longer than PendingTimeout, by their node IDs, and pools without nodes. It returns
// the slots that were removed, and whether it has ended.
func (t sweeper) tidy(r *callers.Request, all bool) (slots []string, done bool) {
	done = true
	for p := range t.known.Pools() {
		if rec := p.Record(); p.Ours() && rec.Gone.IsZero() {
			removed := t.known.RemovedSlots(p.ID(), r.Since())
			slots = append(slots, removed...)
			done = (!all || t.tidyPool(r, p, len(removed) > 0)) && done
		}
	}
	return slots, done
}

// tidyPool does the same for one pool, and reports whether that has ended.
func (t sweeper) tidyPool(r *callers.Request, p *known.Pool, removed bool) bool {
	vacant := p.Vacant(t.now.Add(-t.cfg.PendingTimeout))
	empty := p.Count() == 0 && len(p.Value().Slots) == 0
	switch {
	case t.deleting(p) || t.removals(p) > 0 || t.busy(countOf(p.ID())):
		return false
	case p.Removing():
		t.dropAgain(p)
		return !t.deleting(p) && !t.busy(pool(p.ID()))
	case !empty && len(vacant) == 0, removed, !t.tidiable(r, p, vacant):
		return true
	case !t.readForRemoval(p, r.Since()):
		return t.failed(pool(p.ID()), r.Since()) != nil || !p.Record().Missing.IsZero()
	}
	return t.tidyNow(p, vacant, empty)
}

// tidiable reports whether a pool may be changed, and no attempt since the request has failed.
func (t sweeper) tidiable(r *callers.Request, p *known.Pool, vacant []string) bool {
	if t.settling() || t.inherited(p) || !p.Usable(t.now) || t.unnamed(p) ||
		cmp.Or(t.failed(retireOf(p.ID()), r.Since()), t.failed(dropOf(p.ID()), r.Since())) != nil {
		return false
	}
	return len(vacant) == 0 || t.failed(removalOf(p, vacant[0]), r.Since()) == nil
}

// tidyNow removes a slot of a pool that was read right before, or the pool. It reports whether there is nothing to remove.
func (t sweeper) tidyNow(p *known.Pool, vacant []string, empty bool) bool {
	alone := p.Count() == 1 && len(p.Value().Slots) == 1 && len(vacant) == 1
	switch {
	case empty || alone:
		if t.wants(p) || !t.agreed(p) {
			return true
		}
		t.drop(p, 0, "no node is left in it")
		return false
	case p.Count() > 1:
		t.do(event.Action{Op: event.OpRemove, PoolID: p.ID(), NodeID: vacant[0], Reason: "no instance has come to this slot"})
		return false
	}
	return true
}

// unnamed reports whether the pool does not list one of its instances. The instance has taken one of the slots, and nothing shows which
// one.
func (t sweeper) unnamed(p *known.Pool) bool {
	for n := range t.known.Homed(p.ID()) {
		if !n.Leaving() && n.Record().Missing.IsZero() && n.Identified() && p.SlotOf(n.ID()) == "" && !t.known.Detached(n) {
			return true
		}
	}
	return false
}
