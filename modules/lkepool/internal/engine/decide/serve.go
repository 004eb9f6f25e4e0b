package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// server serves the callers that want something other than a claim.
type server struct {
	*reader
	claim  *claimer
	remove *remover
	sweep  *sweeper
}

// serve goes on with a request, and reports whether it is answered.
func (s *server) serve(r *callers.Request) bool {
	var (
		done      bool
		node      lkepool.Node
		nodes     []lkepool.Node
		collected claims.Collected
		err       error
	)
	switch r.Ask.Kind {
	case event.AskGet:
		node, done, err = s.get(r)
	case event.AskRelease:
		done, err = s.release(r)
	case event.AskTags:
		done, err = s.setTags(r)
	case event.AskList:
		nodes, done, err = s.list(r)
	case event.AskOrphans:
		nodes, done = s.sweep.orphanNodes(r.Ask.Alive), true
	case event.AskEvict:
		collected, done, err = s.sweep.evict(r)
	}
	if done {
		s.actions = append(s.actions, callers.NewAnswer(r.Token, event.Answer{
			Node: node, Nodes: nodes, Collected: collected, Err: callers.AsError(r.Ask.Kind.String(), err),
		}))
	}
	return done
}

// find reads an instance directly since the request came, and returns it when
// it exists, or the error that it is proven not to.
func (s *server) find(r *callers.Request) (n *belief.Node, done bool, err error) {
	if s.known.GoneNode(r.Ask.ID) {
		return nil, true, notFound(r.Ask.ID)
	}
	n = s.known.Meet(r.Ask.ID)
	answered := !n.Direct.Began.Before(r.Since)
	if answered && !n.Evidence.Begun() {
		return n, true, nil
	}
	// A read that was under way when the request came, and was answered after
	// that, proves nothing about the request's own.
	if failed, err := s.readFailed(n.Direct, r.Since); failed && !answered {
		return n, true, err
	}
	switch {
	case !answered:
		s.readNode(n, r.Ask.Kind.String())
	case n.Evidence.Twice() && s.known.InstanceList.FailedSince(r.Since):
		return n, true, s.known.InstanceList.Err
	default:
		s.prove(n)
	}
	return nil, false, nil
}

// home makes sure that the instance's pool is known, if any pool lists it.
func (s *server) home(n *belief.Node, r *callers.Request) bool {
	if _, known := s.known.Pools.Get(n.Home); known {
		return true
	}
	return s.freshPools(r.Since, "the pool of an instance is not known")
}

func (s *server) get(r *callers.Request) (lkepool.Node, bool, error) {
	n, done, err := s.find(r)
	if !done || err != nil {
		return lkepool.Node{}, done, err
	}
	if n.Foreign {
		return lkepool.Node{}, true, notOurs(n.ID, 0, "is not of this cluster")
	}
	if !s.home(n, r) {
		return lkepool.Node{}, s.known.PoolList.FailedSince(r.Since), s.known.PoolList.Err
	}
	p, known := s.known.Pools.Get(n.Home)
	if known && !p.Ours() || !known && n.Claim.Who.None() && n.Detached.IsZero() {
		return lkepool.Node{}, true, notOurs(n.ID, n.Home, "is not of a pool that this engine made")
	}
	return s.known.Describe(n), true, nil
}

// list waits until both lists were read, and until each claimed instance that
// they lack was read directly.
func (s *server) list(r *callers.Request) ([]lkepool.Node, bool, error) {
	if !s.surveyed(r.Since, "list") {
		for _, l := range []*belief.List{&s.known.PoolList, &s.known.InstanceList} {
			if l.FailedSince(r.Since) {
				return nil, true, l.Err
			}
		}
		return nil, false, nil
	}
	if all, err := s.verified(r.Since); !all || err != nil {
		return nil, err != nil, err
	}
	var nodes []lkepool.Node
	for _, n := range s.known.Nodes.Rows {
		if n.Claimed() && s.known.Owned(n) {
			nodes = append(nodes, s.known.Describe(n))
		}
	}
	return nodes, true, nil
}

// verified reads, once since then, what lists lack or contradict, and reports
// whether that has ended. A 404 is waited out until it is proof. An instance of
// which only the ID is known may be claimed, so that failing to read it is an
// error, unless it is that instance alone that cannot be read for long.
func (s *server) verified(since time.Time) (all bool, err error) {
	all = s.verifiedPools(since)
	for _, n := range s.known.Nodes.Rows {
		if s.restoring(n, since) {
			all = false
		}
		if !suspect(n) && !s.unread(n) || !s.known.Owned(n) {
			continue
		}
		ended, failed := s.verifiedNode(n, since)
		all = all && ended
		if failed != nil {
			err = failed
		}
	}
	return all, err
}

// verifiedNode does so for an instance that a list lacks or contradicts.
func (s *server) verifiedNode(n *belief.Node, since time.Time) (ended bool, err error) {
	switch {
	case n.Direct.Busy || n.Direct.Tried.Before(since):
		s.readNode(n, "lists lack it")
		return false, nil
	case n.Direct.Err != nil && !n.Direct.Failing() && s.unattributed(n):
		return true, n.Direct.Err
	case n.Evidence.Begun() && n.Direct.Retry.Failed == 0:
		s.prove(n)
		// For a young instance the list that completes the proof is far away.
		return n.Evidence.Twice() && (s.now.Before(n.Evidence.First.Add(s.cfg.ListLag)) || s.known.InstanceList.FailedSince(since)), nil
	}
	return true, nil
}

// verifiedPools does the same for pools.
func (s *server) verifiedPools(since time.Time) bool {
	all := true
	for _, p := range s.known.Pools.Rows {
		if !p.Ours() || !p.Doubtful() {
			continue
		}
		if p.Direct.Busy || p.Direct.Tried.Before(since) || p.Evidence.Begun() {
			s.verifyPool(p, "a list contradicts what is known of the pool")
			all = all && p.Evidence.Twice()
		}
	}
	return all
}

// restoring reports whether a claim whose tag is wrong is being written again, or will be.
func (s *server) restoring(n *belief.Node, since time.Time) bool {
	return s.claim.restorable(n) && n.Claim.At.Before(since) && n.Direct.Retry.Failed == 0 ||
		n.Phase == belief.Writing && wrong(n)
}

// unread reports whether a direct read alone shows who has the instance.
func (s *server) unread(n *belief.Node) bool {
	return n.Present() && n.Tagged.IsZero() && (!n.Arrived || s.now.Sub(n.Evidence.First) > s.cfg.ListLag) ||
		n.Phase == belief.Unsure && s.known.Settled(s.now, n.Claim.At)
}

// unattributed reports whether no reading shows for certain who has the instance: none had
// its tags, or those may be older than the claims of the process before.
func (s *server) unattributed(n *belief.Node) bool {
	return n.Tagged.IsZero() && s.unread(n) || n.Phase < belief.Writing && !n.Arrived && !s.known.Attributed(n)
}

// suspect reports whether a reading lacks an instance that is claimed, or of its pool.
func suspect(n *belief.Node) bool {
	held := n.Claimed() && !n.Written()
	return held && !n.Detached.IsZero() || (held || n.Present()) && !n.Evidence.Missing.IsZero()
}

// claimedBy returns nil if the instance is ours and the claimant's. The zero
// Claimant stands for any.
func (s *server) claimedBy(n *belief.Node, by claims.Claimant) error {
	switch {
	case n.Foreign:
		return notOurs(n.ID, 0, "is not of this cluster")
	case !s.known.Owned(n):
		return notOurs(n.ID, n.Home, "is not of a pool that this engine made")
	case by != (claims.Claimant{}) && !n.Claim.Who.None() && !n.Claim.Who.Is(s.known.Tags.ID(by)):
		return notOurs(n.ID, n.Home, fmt.Sprintf("is claimed by %s, not by %s", n.Claim.Who.Value, s.known.Tags.Value(by.Name)))
	case by.UID != "" && n.Claim.Who.UID == "" && s.onRecordForAnother(n, by):
		return notOurs(n.ID, n.Home, fmt.Sprintf("is on record for another claimant than %s", s.known.Tags.Value(by.Name)))
	}
	return nil
}

// onRecordForAnother reports whether the caller's own records give the instance to
// another claimant.
func (s *server) onRecordForAnother(n *belief.Node, by claims.Claimant) bool {
	if s.cfg.Records == nil {
		return false
	}
	who, ok := s.cfg.Records.Holder(n.ID)
	return ok && !s.known.Tags.ID(who).Is(s.known.Tags.ID(by))
}

// setTags changes the tags of a claimed instance, claims aside.
func (s *server) setTags(r *callers.Request) (bool, error) {
	n, found, err := s.find(r)
	if !found || err != nil {
		return found, err
	}
	switch {
	case n.Written() || !s.home(n, r):
		return false, nil
	case !r.Wrote.IsZero():
		return true, n.Claim.Err
	case n.Phase == belief.Condemned:
		return true, notOurs(n.ID, n.Home, "is being removed")
	case n.Phase != belief.Held:
		return true, notOurs(n.ID, n.Home, "is not claimed")
	}
	if err := s.claimedBy(n, r.Ask.By); err != nil {
		return true, err
	}
	tags := slices.DeleteFunc(slices.Clone(n.Tags), func(tag string) bool {
		return slices.Contains(r.Ask.Remove, tag) && !slices.Contains(r.Ask.Add, tag)
	})
	tags = claims.Union(tags, r.Ask.Add)
	if !s.known.Tags.ClaimIn(tags).Is(n.Claim.Who) {
		tags = s.known.Tags.ClaimTags(tags, n.Claim.Who, cmp.Or(n.Claim.ClaimedAt, s.now))
	}
	switch {
	case slices.Equal(tags, n.Tags):
		return true, nil
	case s.settling():
	case !s.seenLately(n.Direct):
		s.readNode(n, "look before changing tags")
	default:
		r.Wrote = s.now
		s.do(event.Action{Op: event.OpMark, InstanceID: n.ID, PoolID: n.Home, Reason: "change tags", Tags: tags})
	}
	return false, nil
}

// release removes an instance for its claimant. It ends when the platform has
// accepted the removal, or had accepted it before.
func (s *server) release(r *callers.Request) (bool, error) {
	n, known := s.known.Nodes.Get(r.Ask.ID)
	if known && !n.Removed.IsZero() && !n.Removed.Before(r.Since) {
		return true, nil
	}
	if _, home := s.known.Pools.Get(n.HomeOrNone()); !known || !home || !n.Removed.IsZero() || !n.Detached.IsZero() ||
		n.Claim.Who.None() {
		var found bool
		var err error
		if n, found, err = s.find(r); !found || err != nil {
			return found, err
		}
		if !s.home(n, r) {
			return s.known.PoolList.FailedSince(r.Since), s.known.PoolList.Err
		}
	}
	if err := s.claimedBy(n, r.Ask.By); err != nil {
		return true, err
	}
	return s.remove.remove(n, r.Since, "released by its claimant")
}

func notFound(id int) error {
	return &claims.Error{Kind: claims.KindNotFound, Op: "get instance", Err: fmt.Errorf("instance %d does not exist", id)}
}

func notOurs(id, poolID int, why string) error {
	return &claims.Error{Kind: claims.KindConflict, Op: "get instance", Object: claims.Object("pool", poolID), Effect: claims.EffectNone,
		Err: fmt.Errorf("instance %d %s", id, why)}
}
