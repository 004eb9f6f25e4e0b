package lkepool

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// What a sweep removes besides orphans: second nodes of one claimant, and places
// that no instance took, or that one has left without a trace.

// twins returns the instances whose claim another instance carries too, with
// the one that counts. They are left out while any of these claims is young: its
// claimant may not have stored yet which instance it has.
func (s *sweep) twins() map[int]int {
	a := s.a
	holders := map[string][]Member{}
	for _, pool := range s.reading.Pools {
		for _, member := range pool.Members {
			if claim := a.ledger.claim(member.ID, claimOf(member.Tags)); claim != "" && pool.ours() && !a.ledger.hasLeft(member.ID) {
				holders[claim] = append(holders[claim], member)
			}
		}
	}
	held := a.ledger.holdings()
	twins := map[int]int{}
	for claim, members := range holders {
		if _, unsettled := held[claim]; len(members) < 2 || unsettled {
			continue
		}
		kept, youngest := members[0], s.twinAge(members[0], claim)
		for _, member := range members[1:] {
			youngest = min(youngest, s.twinAge(member, claim))
			if a.ledger.prefers(claim, member.Instance, kept.Instance) {
				kept = member
			}
		}
		for _, member := range members {
			if member.ID != kept.ID && youngest > a.cfg.OrphanTTL {
				twins[member.ID] = kept.ID
			}
		}
	}
	return twins
}

// spare keeps what somebody has come for since it was chosen: reading it again
// took its time.
func (s *sweep) spare(hash string, pools []Pool, going map[int]Node) {
	free, _ := s.candidates(hash, pools)
	maps.DeleteFunc(going, func(id int, node Node) bool { return node.Claim == "" && !slices.Contains(free, id) })
}

// twinAge does not trust the tag alone, which somebody may have copied.
func (s *sweep) twinAge(member Member, claim string) time.Duration {
	seen, ok := s.a.ledger.since(member.ID, claim)
	if !ok {
		return 0
	}
	return min(s.a.cfg.Clock.Since(seen), s.age(member, claim, claimedAtOf(member.Tags)))
}

// overdue returns the places of a pool that have been without an instance for too
// long: LKE owes one, or somebody deleted the Linode and LKE makes no other. While
// the pool lacks a member in its list, which has then taken one of these places,
// nobody can tell which: there are none.
func (s *sweep) overdue(pool Pool) []Slot {
	if slices.ContainsFunc(pool.Members, func(m Member) bool { return m.NodeID == "" }) {
		return nil
	}
	var places []Slot
	for _, slot := range pool.Slots {
		since, vacant := s.a.ledger.vacantSince(pool.ID, slot)
		if vacant && slot.NodeID != "" && s.a.cfg.Clock.Since(since) > s.a.cfg.PendingTimeout {
			places = append(places, slot)
		}
	}
	slices.SortFunc(places, func(a, b Slot) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return places
}

// deserted says whether the instance that a place names is proven to be gone.
func (s *sweep) deserted(ctx context.Context, place Slot) (bool, error) {
	if place.InstanceID == 0 {
		return true, nil
	}
	switch _, err := s.a.backend.Instance(ctx, place.InstanceID); KindOf(err) {
	case KindNotFound:
		return true, nil
	case "":
		return false, nil
	default:
		return false, err
	}
}

// vacate removes overdue places by their nodes' names, whoever waits: they have
// shown that they do not come, and a claimant is told so. The caller holds the
// key's lock.
func (s *sweep) vacate(ctx context.Context, q *queue, pool Pool) error {
	a := s.a
	if len(s.overdue(pool)) == 0 {
		return nil
	}
	// Before the lock was free, an instance may have come and have been claimed
	// whose place the pool does not name yet.
	r, err := a.reads.Do(ctx)
	if err != nil {
		return asError("collect", err)
	}
	at := slices.IndexFunc(r.Pools, func(p Pool) bool { return p.ID == pool.ID })
	fresh, err := a.poolOf(ctx, pool.ID)
	if err != nil || fresh.ID == 0 || at < 0 {
		return err
	}
	still := s.overdue(fresh)
	places := slices.DeleteFunc(s.overdue(r.Pools[at]), func(place Slot) bool { return !slices.Contains(still, place) })
	ctx, cancel := finishing(ctx)
	defer cancel()
	defer a.outdate(q)
	q.scaled = nil
	var failed []error
	for _, place := range places {
		if gone, err := s.deserted(ctx, place); !gone {
			failed = append(failed, err)
			continue
		}
		if fresh.Count == 1 {
			failed = append(failed, s.vacateLast(ctx, q, pool.ID, place))
			break
		}
		if err := a.backend.Remove(ctx, pool.ID, place.NodeID); err != nil {
			a.ledger.unsized(pool.ID)
			failed = append(failed, err)
			break
		}
		fresh.Count--
		a.ledger.sized(fresh, a.cfg.Clock.Now())
		s.collected.Places = append(s.collected.Places, place.NodeID)
	}
	return errors.Join(failed...)
}

// vacateLast removes a pool of which nothing is left but an overdue place.
func (s *sweep) vacateLast(ctx context.Context, q *queue, poolID int, place Slot) error {
	a := s.a
	fresh, err := a.poolOf(ctx, poolID)
	if err != nil || fresh.Count != 1 || len(fresh.Slots) != 1 || fresh.Slots[0] != place || a.awaited(q) {
		return err
	}
	if err := a.backend.Drop(ctx, poolID); err != nil {
		return err
	}
	a.ledger.poolDropped(poolID, a.cfg.Clock.Now())
	s.collected.Places = append(s.collected.Places, place.NodeID)
	s.collected.Pools = append(s.collected.Pools, poolID)
	return nil
}
