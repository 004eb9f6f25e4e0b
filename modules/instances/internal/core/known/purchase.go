package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/byclaim"
)

// Purchases contains the creations by claimant.
type Purchases struct {
	*Terms
	byclaim.Index[*Purchase]
}

func newPurchases(t *Terms) Purchases { return Purchases{t, byclaim.Index[*Purchase]{}} }

// Purchase records the creations for one claimant, and the searches for their label.
type Purchase struct {
	Who   claims.ClaimID
	Label string
	// Busy is true while a creation is under way, of InstanceType.
	Busy         bool
	InstanceType string
	// Lands is the last creation without a known effect.
	Lands Landing
	// Ambiguous is the time of the last creation without a known effect, LabelTaken of
	// the last one refused because the label exists.
	Ambiguous, LabelTaken time.Time
	// Unshown reports that the label was refused, and that the lists which had to show
	// who has it lack it. Since then no creation was sent that may have had an effect.
	Unshown bool
	Search  Search
	// LabelOwner is an instance that has the label and is not the claimant's.
	LabelOwner int
	// Failure ends calls, LastFailure is the reason of the wait.
	Failure
	LastFailure error
}

// Search describes the lists of one label.
type Search struct {
	Running bool
	Began   time.Time // of the last one that ended
	InARow  int
}

// Landing is a creation that may still take effect, or may have without a list that
// shows it, until a time.
type Landing struct {
	Until        time.Time
	InstanceType string
}

// Claimant returns whom it is for.
func (p *Purchase) Claimant() claims.ClaimID { return p.Who }

// Of returns the record of a claimant, and makes one if the claimant has no record.
func (x Purchases) Of(who claims.ClaimID, label string) *Purchase {
	p, known := x.Get(who)
	if !known {
		p = &Purchase{Who: who, Label: label}
		x.Add(p)
	}
	return p
}

// UnderWay reports whether a creation for the claimant is under way.
func (x Purchases) UnderWay(who claims.ClaimID) bool {
	for _, p := range x.Matching(who) {
		if p.Busy {
			return true
		}
	}
	return false
}

// Resolving reports whether the owner of the label must be found first.
func (p *Purchase) Resolving() bool {
	return !p.Ambiguous.IsZero() || !p.LabelTaken.IsZero() || p.LabelOwner != 0
}

// NotMade notes that a search did not find the label of a creation without an answer.
func (p *Purchase) NotMade() { p.Ambiguous = time.Time{} }

// Resolved notes that it is known who has the label.
func (p *Purchase) Resolved() { p.Ambiguous, p.LabelTaken, p.Unshown = time.Time{}, time.Time{}, false }

// NotShown notes that no list shows who has the label, although lists must.
func (p *Purchase) NotShown() {
	p.Resolved()
	p.Unshown = true
}

// Freed notes that the instance no longer has the label.
func (p *Purchase) Freed() { p.LabelOwner = 0 }

// forget drops what readings have shown.
func (p *Purchase) forget() {
	p.Resolved()
	p.Freed()
	p.Search.Running = false
}

// Landed reports whether no creation for the claimant can still take effect, or have
// taken effect without being counted.
func (b *Known) Landed(p *Purchase) bool {
	until := p.Lands.Until
	return until.IsZero() || !b.Now.Before(until) && (!b.Settings.Bounded() || !b.World.List.Began.Before(until))
}

// OwnerShownAt returns the time from which lists show the instance with a refused label:
// the instance that had the label then, or an instance of a later creation without an answer.
func (b *Known) OwnerShownAt(p *Purchase) time.Time {
	return Latest(p.LabelTaken.Add(b.Settings.ListLag), p.Lands.Until, b.ShownAt())
}

// Forget drops the record of a claimant for which no caller waits, if the record has no facts.
func (b *Known) Forget(who claims.ClaimID) (forgotten bool) {
	p, known := b.Purchases.Get(who)
	if known && !p.Busy && !p.Resolving() && !p.Unshown && b.Landed(p) {
		b.Purchases.Remove(p)
		return true
	}
	return !known
}

// Owned counts, by type, the instances that exist, are being created, or may still be
// made for other claimants than one.
func (b *Known) Owned(but *Purchase) map[string]int {
	owned := map[string]int{}
	for _, p := range b.Purchases.All() {
		if p == but || len(b.World.Has(p.Who)) > 0 {
			continue
		}
		if p.Busy {
			owned[p.InstanceType]++
		}
		if !b.Landed(p) && (!p.Busy || p.InstanceType != p.Lands.InstanceType) {
			owned[p.Lands.InstanceType]++
		}
	}
	for _, n := range b.World.Nodes {
		owned[n.InstanceType]++
	}
	return owned
}

// CountedAt returns the time from which lists show all instances that ceilings count,
// including instances of the process before and of creations without an answer for other claimants.
func (b *Known) CountedAt(but *Purchase) time.Time {
	since := b.ShownAt()
	for _, p := range b.Purchases.All() {
		if p != but && !b.Now.Before(p.Lands.Until) {
			since = Latest(since, p.Lands.Until)
		}
	}
	return since
}
