package lkepool

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// view is what a pass works with.
type view struct {
	// began is when the reading began, full when the last full one did.
	began, full time.Time
	// pools are the key's pools that new nodes may come from; shut counts
	// those that somebody edited, so that they do not fit the key any more.
	pools []Pool
	shut  int
	// places tells where a claim was seen. Only a full reading knows more than
	// the key's own pools.
	places map[string]place
}

// place is an instance that carries a claim.
type place struct {
	member Member
	pool   Pool
	// loose: no pool lists the instance.
	loose bool
}

// whole says whether the view is a full reading and not a poll.
func (v view) whole() bool { return v.began.Equal(v.full) }

// misses says whether the pool has lost a place that the view lists: whatever
// came instead, a claimed node's place may have become a free one.
func (v view) misses(fresh Pool) bool {
	listed := map[string]bool{}
	for _, slot := range fresh.Slots {
		listed[slot.NodeID] = true
	}
	for _, pool := range v.pools {
		if pool.ID == fresh.ID {
			return slices.ContainsFunc(pool.Slots, func(s Slot) bool { return !listed[s.NodeID] })
		}
	}
	return false
}

// viewLifetime is how long polls may build on a full reading.
const viewLifetime = 2 * time.Minute

// look returns what the pass needs to know: everything when there is reason to,
// otherwise only whether capacity has arrived, and how many reads that took.
// What another key has read meanwhile takes none.
func (a *Allocator) look(ctx context.Context, q *queue, key Key) (view, int, error) {
	o, ok := a.offered(q)
	switch {
	case ok && o.full != nil:
		return a.viewOf(key, *o.full), 0, nil
	case a.needsFull(q):
		return a.lookFully(ctx, key)
	}
	calls := 0
	if !ok {
		var err error
		calls++
		if o, err = a.polled(ctx, q); err != nil {
			return view{}, calls, err
		}
	}
	if a.knowsBetter(q.view, o.pools) {
		return a.lookFully(ctx, key)
	}
	v := view{began: o.began, full: q.view.full, shut: q.view.shut, places: map[string]place{}}
	for _, pool := range a.ledger.correct(o.pools, o.began) {
		if pool.belongsTo(key) {
			v.add(a, pool, key)
		}
	}
	return v, calls, nil
}

func (a *Allocator) lookFully(ctx context.Context, key Key) (view, int, error) {
	r, err := a.reads.Do(ctx)
	if err != nil {
		return view{}, 1, err
	}
	return a.viewOf(key, r), 1, nil
}

// knowsBetter says whether a poll took an instance for new, and left it unread,
// that was seen before: an answer that was out of date had hidden it meanwhile.
func (a *Allocator) knowsBetter(before view, pools []Pool) bool {
	known := map[int]bool{}
	for _, pool := range before.pools {
		for _, member := range pool.Members {
			known[member.ID] = true
		}
	}
	for _, pool := range pools {
		for _, member := range pool.Members {
			if member.Unread && !known[member.ID] && a.ledger.met(member.ID) {
				return true
			}
		}
	}
	return false
}

func (a *Allocator) needsFull(q *queue) bool {
	if len(q.view.pools) == 0 || a.cfg.Clock.Since(q.view.full) > viewLifetime || !a.ledger.complete(a.born) {
		return true
	}
	held := a.ledger.holdings()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range q.waiters {
		m, reserved := held[w.claim]
		if reserved && m.key != q.hash {
			return true
		}
		if _, here := q.view.places[w.claim]; !here && !reserved && a.ledger.knownClaim(w.claim) != 0 {
			return true
		}
	}
	return false
}

// viewOf picks what concerns the key, and everybody's claims.
func (a *Allocator) viewOf(key Key, r reading) view {
	v := view{began: r.began, full: r.began, places: map[string]place{}}
	for _, pool := range r.Pools {
		switch {
		case pool.belongsTo(key):
			v.add(a, pool, key)
		case pool.ours():
			v.note(a, pool)
		}
	}
	for _, instance := range r.Loose {
		if claim := a.ledger.claim(instance.ID, claimOf(instance.Tags)); claim != "" && instance.State != Leaving && !a.ledger.hasLeft(instance.ID) {
			v.put(a, claim, place{member: Member{Instance: instance}, loose: true})
		}
	}
	return v
}

func (v *view) add(a *Allocator, pool Pool, key Key) {
	v.note(a, pool)
	if !pool.fits(key) {
		v.shut++
		return
	}
	v.pools = append(v.pools, pool)
}

func (v *view) note(a *Allocator, pool Pool) {
	for _, member := range pool.Members {
		if claim := a.ledger.claim(member.ID, claimOf(member.Tags)); claim != "" && !a.ledger.hasLeft(member.ID) {
			v.put(a, claim, place{member: member, pool: pool})
		}
	}
}

// put prefers an instance in a pool to a loose one. Of two in pools the ledger
// knows which one counts.
func (v *view) put(a *Allocator, claim string, p place) {
	if other, ok := v.places[claim]; ok {
		switch {
		case p.loose != other.loose:
			if p.loose {
				return
			}
		case a.ledger.prefers(claim, other.member.Instance, p.member.Instance):
			return
		}
	}
	v.places[claim] = p
}

// planned translates the key's pools for the decisions.
func (a *Allocator) planned(v view) []plan.Pool {
	pools := make([]plan.Pool, 0, len(v.pools))
	for _, pool := range v.pools {
		p := plan.Pool{ID: pool.ID, Count: pool.Count, Absent: pool.absent()}
		for _, member := range pool.Members {
			if member.NodeID == "" && a.limits.NodesLag && a.ledger.suspect(member.ID) {
				// It may be leaving: it is nobody's, and holds no place.
				continue
			}
			p.Members = append(p.Members, plan.Member{
				ID:    member.ID,
				Taken: a.ledger.claim(member.ID, claimOf(member.Tags)) != "",
				Unfit: a.health(member.Instance) != Healthy,
			})
		}
		pools = append(pools, p)
	}
	return pools
}

// health judges an instance that its pool lists.
func (a *Allocator) health(i Instance) Health {
	switch {
	case i.State == Leaving:
		return Deleting
	case i.State == Down && a.cfg.Clock.Since(i.Created) > a.cfg.BootTimeout:
		return Stopped
	}
	return Healthy
}

// size puts a pool's new count into the view after a write. It keeps the
// members, which a write's answer does not tell, and the slots: an instance
// that is in the answer's slots already is to be noticed by the next poll.
func (v *view) size(pool Pool) {
	for i := range v.pools {
		if v.pools[i].ID == pool.ID {
			v.pools[i].Count = pool.Count
			return
		}
	}
	v.pools = append(v.pools, pool)
}

// member finds an instance in the key's pools.
func (v view) member(instanceID int) (Pool, Member) {
	for _, pool := range v.pools {
		for _, member := range pool.Members {
			if member.ID == instanceID {
				return pool, member
			}
		}
	}
	return Pool{}, Member{Instance: Instance{ID: instanceID}}
}
