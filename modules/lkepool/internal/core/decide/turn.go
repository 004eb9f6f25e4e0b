package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// turn is one event's turn: the record, the callers, and what was chosen so far.
type turn struct {
	cfg     lkepool.Config
	limits  lkepool.Limits
	known   known.View
	callers callers.View
	now     time.Time
	chosen  Decision
	// sent are the targets of the chosen requests, answered the claimants that were answered.
	sent     map[known.Target]bool
	answered map[*callers.Claim]bool
}

// The parts of a decision, each of which uses the ones before it.
type (
	// reader chooses readings, claimer handles claims and free instances, supplier finds the nodes for a key, and buyer chooses purchases.
	reader   struct{ *turn }
	claimer  struct{ reader }
	supplier struct{ claimer }
	buyer    struct{ supplier }
	// remover removes one node, sweeper removes what no claimant needs, and server serves requests other than claims.
	remover struct{ supplier }
	sweeper struct{ remover }
	server  struct{ sweeper }
)

// wait notes that the next turn is to be at the given time at the latest, and returns false if that time has come.
func (t *turn) wait(until time.Time) bool {
	if !t.now.Before(until) {
		return false
	}
	if t.chosen.Wake.IsZero() || until.Before(t.chosen.Wake) {
		t.chosen.Wake = until
	}
	return true
}

// busy reports whether a request for the target is under way, or was chosen.
func (t *turn) busy(target known.Target) bool {
	return t.sent[target] || t.known.Request(target).Busy > 0
}

// deleting reports whether the deletion of a pool is under way, or the write of the tag that announces the deletion.
func (t *turn) deleting(p *known.Pool) bool {
	return t.busy(retireOf(p.ID())) || t.busy(dropOf(p.ID()))
}

// removals counts the removals of a pool's nodes that are under way or chosen.
func (t *turn) removals(p *known.Pool) int {
	all := t.known.Removals(p.ID())
	for target := range t.sent {
		if target.Op == event.OpRemove && target.ID == p.ID() {
			all++
		}
	}
	return all
}

// do chooses a request. Later choices of this turn take it into account.
func (t *turn) do(a event.Action) {
	switch a.Op {
	case event.OpScale, event.OpRetire, event.OpDrop:
		a.NotAfter = t.now.Add(tuning.CountValid)
	case event.OpCreate, event.OpRemove:
		a.NotAfter = t.now.Add(tuning.SendWithin)
	case event.OpMark:
		a.NotAfter = t.now.Add(tuning.ClaimWithin)
	}
	if t.sent == nil {
		t.sent = map[known.Target]bool{}
	}
	t.sent[known.TargetOf(a)] = true
	t.chosen.Actions = append(t.chosen.Actions, a)
}

// deliver answers all callers that wait for the claim.
func (t *turn) deliver(claim *callers.Claim, a event.Answer) {
	if t.answered == nil {
		t.answered = map[*callers.Claim]bool{}
	}
	t.answered[claim] = true
	t.chosen.Replies = append(t.chosen.Replies, Reply{Claimant: claim.ID(), Answer: a})
}

// refuse answers claimants with an error.
func (t *turn) refuse(waiting []*callers.Claim, err error) {
	for _, claim := range waiting {
		if !t.answered[claim] {
			t.deliver(claim, event.Answer{Err: err})
		}
	}
}

// reply answers a caller with another request.
func (t *turn) reply(r *callers.Request, a event.Answer) {
	a.Err = callers.AsError(r.Ask().Kind.String(), a.Err)
	t.chosen.Replies = append(t.chosen.Replies, Reply{Token: r.Token(), Answer: a})
}

// settling reports whether direct reads may not yet show writes that were answered to the previous leader.
func (t *turn) settling() bool { return t.wait(t.known.Settled()) }

// inherited reports whether writes of the previous leader may still take effect in a pool. Such a pool is neither made larger nor deleted.
// Example: this process began to lead at 10:00:00, after a process that died. With LateEffect 2 min and SettleTime 4 s, the pools that it
// found are inherited until 10:02:04.
func (t *turn) inherited(p *known.Pool) bool { return !p.Made() && t.wait(t.known.LateShown()) }

// held returns the instance of a claimant, nil without one. Of several instances it returns the one with the highest worth, then the one
// that the claimant has had for the longest time, then the one with the lowest ID. Example: the records of the caller name Linode 7 for a
// claimant, and a person copies the claim's tag onto Linode 5: held returns Linode 7.
func (t *turn) held(who claims.ClaimID) *known.Node {
	var best *known.Node
	rank := 0
	for n := range t.known.ClaimedFor(who) {
		if worth := t.worth(n, who); worth > rank || worth == rank && best != nil && n.Claim().Since.Before(best.Claim().Since) {
			best, rank = n, worth
		}
	}
	return best
}

// worth ranks the instances of one claimant. First comes the instance that the records of the caller name, then an instance that this
// process gave to the claimant, then an instance that is not missing, then an instance of the key that the claimant wants. An instance that
// does not serve the claimant has worth 0.
func (t *turn) worth(n *known.Node, who claims.ClaimID) int {
	p, shown := t.known.Pool(n.Home())
	if !n.Serves(who) || n.Value().Foreign || shown && !p.Ours() {
		return 0
	}
	worth := 1
	if stored, ok := t.known.Stored(n.ID()); ok && stored.Is(who) {
		worth += 8
	}
	if n.Claim().Vouched() {
		worth += 4
	}
	if n.Record().Missing.IsZero() {
		worth += 2
	}
	if hash := t.callers.KeyOf(who); hash == "" || !shown || p.Hash() == hash {
		worth++
	}
	return worth
}

// wants reports whether claimants wait for a node of the pool that it can serve.
func (t *turn) wants(p *known.Pool) bool {
	if t.known.Retired(p) {
		return false
	}
	for claim := range t.callers.Claims() {
		if claim.Waits() && !t.answered[claim] && claim.Hash() == p.Hash() {
			return p.Fits(claim.Request().Key)
		}
	}
	return false
}
