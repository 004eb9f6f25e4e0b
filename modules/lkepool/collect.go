package lkepool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// Collect releases what nobody needs: free nodes older than OrphanTTL that
// nobody waits for, nodes whose claim is older than that and whose claimant does
// not exist, places that have been without an instance for longer than
// PendingTimeout, and pools without nodes. Of several nodes that carry one claim, which only two
// processes at once or a person can bring about, it releases all but the one that
// Claim gives back, when the youngest of these claims is older than OrphanTTL.
//
// A node goes only when the sweep's Vacate says so. Nodes are not kept from
// claimants meanwhile: what is asked for is handed out, wanted or not by the
// sweep, and everything is decided again, and read again, afterwards.
//
// What happened is returned along with an error.
func (a *Allocator) Collect(ctx context.Context, how Sweep) (Collected, error) {
	r, err := a.reads.Do(ctx)
	if err != nil {
		return Collected{}, asError("collect", err)
	}
	names, err := how.Alive(ctx)
	if err != nil {
		return Collected{}, &Error{Kind: KindUnavailable, Op: "collect", Err: err}
	}
	exists := map[string]bool{}
	for _, name := range names {
		exists[ClaimValue(name)] = true
	}
	s := &sweep{a: a, how: how, exists: exists, reading: r}
	byKey := map[string][]Pool{}
	for _, pool := range r.Pools {
		if pool.ours() {
			byKey[pool.keyHash()] = append(byKey[pool.keyHash()], pool)
		}
	}
	failed := []error{s.askToLeave(ctx, byKey)}
	for hash, pools := range byKey {
		if !s.worthwhile(hash, pools) {
			continue
		}
		if err := s.key(ctx, hash, pools); err != nil {
			failed = append(failed, err)
		}
	}
	a.tidy()
	return s.collected, asError("collect", errors.Join(failed...))
}

// sweep is one call of Collect.
type sweep struct {
	a         *Allocator
	how       Sweep
	exists    map[string]bool
	reading   reading
	collected Collected
	// vacated are the instances that may go, as far as Sweep.Vacate knows.
	vacated map[int]bool
}

// worthwhile says whether a key's pools hold anything to collect, so that the
// lock is taken and more is read only then.
func (s *sweep) worthwhile(hash string, pools []Pool) bool {
	return len(s.leaving(hash, pools)) > 0 || slices.ContainsFunc(pools, func(p Pool) bool {
		return p.Count == 0 || len(s.overdue(p)) > 0
	})
}

// candidates returns what may go: free instances beyond the demand, and
// instances whose claimant does not exist.
func (s *sweep) candidates(hash string, pools []Pool) (free, abandoned []int) {
	a := s.a
	var idle []plan.Idle
	twins := s.twins()
	for _, pool := range pools {
		for _, member := range pool.Members {
			claim := a.ledger.claim(member.ID, claimOf(member.Tags))
			switch {
			case claim == "":
				idle = append(idle, plan.Idle{ID: member.ID, Age: s.age(member, "", member.Created)})
			case !s.exists[claim] && !a.awaits(claim) && s.age(member, claim, claimedAtOf(member.Tags)) > a.cfg.OrphanTTL:
				abandoned = append(abandoned, member.ID)
			case twins[member.ID] != 0 && !a.awaits(claim):
				abandoned = append(abandoned, member.ID)
			}
		}
	}
	a.mu.Lock()
	q := a.queueLocked(hash)
	a.mu.Unlock()
	return plan.Surplus(idle, a.demand(q, a.cfg.OrphanTTL), a.cfg.OrphanTTL), abandoned
}

// leaving are the candidates that may go as far as Sweep.Vacate knows.
func (s *sweep) leaving(hash string, pools []Pool) []int {
	free, abandoned := s.candidates(hash, pools)
	return slices.DeleteFunc(slices.Concat(free, abandoned), func(id int) bool { return !s.vacated[id] })
}

// age is for how long an instance has been in its state: since the later of
// what the API tells and, when that says nothing, of when it was first seen so.
func (s *sweep) age(member Member, claim string, told time.Time) time.Duration {
	seen, ok := s.a.ledger.since(member.ID, claim)
	switch {
	case !told.IsZero():
		return s.a.cfg.Clock.Since(told)
	case ok:
		return s.a.cfg.Clock.Since(seen)
	}
	return 0
}

// key collects from the pools of one key, under its lock, after another look
// at everything that is to go.
func (s *sweep) key(ctx context.Context, hash string, pools []Pool) error {
	a := s.a
	unlock, err := a.keys.Lock(ctx, hash)
	if err != nil {
		return err
	}
	defer unlock()
	a.mu.Lock()
	q := a.queueLocked(hash)
	a.mu.Unlock()
	// Decided once more: while the lock was awaited, nodes were claimed.
	leaving := s.leaving(hash, pools)
	var failed []error
	for _, pool := range pools {
		going, err := s.confirm(ctx, pool, leaving)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.spare(hash, pools, going)
		failed = append(failed, s.evict(ctx, q, pool, going), s.vacate(ctx, q, pool))
	}
	return errors.Join(failed...)
}

// confirm reads each candidate of the pool again: it must be in the state for
// which it was chosen.
func (s *sweep) confirm(ctx context.Context, pool Pool, candidates []int) (map[int]Node, error) {
	a := s.a
	going := map[int]Node{}
	for _, member := range pool.Members {
		if !slices.Contains(candidates, member.ID) {
			continue
		}
		fresh, err := a.backend.Instance(ctx, member.ID)
		switch {
		case KindOf(err) == KindNotFound:
			continue
		case err != nil:
			return nil, err
		case fresh.Foreign || claimOf(fresh.Tags) != claimOf(member.Tags) || !claimedAtOf(fresh.Tags).Equal(claimedAtOf(member.Tags)):
			continue
		}
		if other := s.twins()[member.ID]; other != 0 && s.exists[a.ledger.claim(member.ID, claimOf(fresh.Tags))] {
			kept, err := a.backend.Instance(ctx, other)
			if err != nil || kept.State == Leaving || claimOf(kept.Tags) != claimOf(fresh.Tags) {
				// It is the only one now, or nobody knows.
				continue
			}
		}
		going[member.ID] = a.node(pool, member.NodeID, fresh)
	}
	return going, nil
}

func (s *sweep) evict(ctx context.Context, q *queue, pool Pool, going map[int]Node) error {
	a := s.a
	if pool.Count == 0 && len(pool.Members) == 0 {
		return s.dropEmpty(ctx, q, pool)
	}
	if len(going) == 0 {
		return nil
	}
	var ids []int
	for id := range going {
		ids = append(ids, id)
	}
	var failed []error
	for id, err := range a.evict(ctx, q, pool.ID, ids) {
		switch KindOf(err) {
		case "":
			s.collected.Released = append(s.collected.Released, going[id])
		case KindNotFound, KindProvisioning:
			// Gone, or to be seen by the next sweep.
		default:
			failed = append(failed, err)
		}
	}
	if a.ledger.hasDropped(pool.ID) {
		s.collected.Pools = append(s.collected.Pools, pool.ID)
	}
	return errors.Join(failed...)
}

// dropEmpty deletes a pool that has no node and is to have none.
func (s *sweep) dropEmpty(ctx context.Context, q *queue, pool Pool) error {
	a := s.a
	fresh, err := a.poolOf(ctx, pool.ID)
	if err != nil || fresh.ID == 0 || fresh.Count != 0 || len(fresh.Slots) != 0 || a.awaited(q) {
		return err
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	if err := a.backend.Drop(ctx, pool.ID); err != nil {
		return err
	}
	a.ledger.poolDropped(pool.ID, a.cfg.Clock.Now())
	a.outdate(q)
	s.collected.Pools = append(s.collected.Pools, pool.ID)
	return nil
}

// queueMemory is how long a queue that nobody uses is remembered.
const queueMemory = time.Hour

// tidy forgets queues of keys that nobody has used for long: every change of a
// template makes a new key.
func (a *Allocator) tidy() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for hash, q := range a.queues {
		if !q.running && a.cfg.Clock.Since(q.ended) > queueMemory {
			delete(a.queues, hash)
		}
	}
}
