package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/byclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// purchases contains the creations by claimant.
type purchases struct {
	*terms
	byclaim.Index[*Purchase]
}

// Purchase records the creations for one claimant, and the searches for their label.
type Purchase struct {
	who   claims.ClaimID
	label string
	// busy is true while a creation is under way, of instanceType.
	busy         bool
	instanceType string
	// lands is the last creation without a known effect.
	lands landing
	// ambiguous is the time of the last creation without a known effect, labelTaken of the last creation that was refused because the
	// label exists.
	ambiguous, labelTaken time.Time
	// unshown reports that the API refused the label, and that the lists which had to show its owner lack the owner. Since then no creation
	// was sent that may have had an effect.
	unshown bool
	search  search
	// labelOwner is an instance that has the label and is not the claimant's.
	labelOwner int
	// failure is the failure that ends calls, lastErr the reason why claimants wait.
	failure
	lastErr error
}

// search describes the lists of one label.
type search struct {
	running bool
	began   time.Time // of the last list that ended
	inARow  int
}

// landing is a creation without a known effect. Until a time it may still take effect, or it may have taken effect and no list
// shows it.
type landing struct {
	until        time.Time
	instanceType string
}

// Claimant returns the claimant of the creations.
func (p *Purchase) Claimant() claims.ClaimID { return p.who }

// Label is the label of the claimant's instance.
func (p *Purchase) Label() string { return p.label }

// Busy reports whether a creation is under way.
func (p *Purchase) Busy() bool { return p.busy }

// Ambiguous and LabelTaken are the times of the last creation without a known effect, and of the last creation that was refused
// because the label exists. Unshown: the API refused the label, and the lists that had to show its owner lack the owner.
func (p *Purchase) Ambiguous() time.Time  { return p.ambiguous }
func (p *Purchase) LabelTaken() time.Time { return p.labelTaken }
func (p *Purchase) Unshown() bool         { return p.unshown }

// Searching reports whether a list of the label is under way. Searched returns when the last ended list began, and how many lists have
// ended since the creation that they follow.
func (p *Purchase) Searching() bool { return p.search.running }
func (p *Purchase) Searched() (began time.Time, inARow int) {
	return p.search.began, p.search.inARow
}

// LabelOwner is an instance that has the label and is not the claimant's, 0 for none.
func (p *Purchase) LabelOwner() int { return p.labelOwner }

// Lands returns the type of an instance that a creation without an answer may still make, and the time until which it may make it.
func (p *Purchase) Lands() (instanceType string, until time.Time) {
	return p.lands.instanceType, p.lands.until
}

// FailedSince returns the failure that ends calls with a lower number, nil for none. LastErr is why claimants wait.
func (p *Purchase) FailedSince(call event.Seq) error { return p.since(call) }
func (p *Purchase) LastErr() error                   { return p.lastErr }

// Resolving reports whether the owner of the label must be found first.
func (p *Purchase) Resolving() bool {
	return !p.ambiguous.IsZero() || !p.labelTaken.IsZero() || p.labelOwner != 0
}

// since returns the error of a failure after a call began, nil for none.
func (f *failure) since(call event.Seq) error {
	if f == nil || f.seq <= call {
		return nil
	}
	return f.err
}

// of returns the record of a claimant, and makes one if the claimant has no record.
func (x purchases) of(who claims.ClaimID, label string) *Purchase {
	p, known := x.Get(who)
	if !known {
		p = &Purchase{who: who, label: label}
		x.Add(p)
	}
	return p
}

// Order notes that a claimant wants an instance with a label.
func (k *Known) Order(who claims.ClaimID, label string) { k.purchases.of(who, label) }

// resolved notes that it is known who has the label.
func (p *Purchase) resolved() { p.ambiguous, p.labelTaken, p.unshown = time.Time{}, time.Time{}, false }

// forget drops what readings have shown.
func (p *Purchase) forget() {
	p.resolved()
	p.labelOwner = 0
	p.search.running = false
}

// unlanded reports whether a creation for the claimant may still take effect, or may have taken effect without being counted.
func (k *Known) unlanded(p *Purchase) bool {
	until := p.lands.until
	return !until.IsZero() && (k.now.Before(until) || k.settings.Bounded() && k.list.began.Before(until))
}

// Forget drops the record of a claimant for which no caller waits, if the record has no facts.
func (k *Known) Forget(who claims.ClaimID) (forgotten bool) {
	p, known := k.purchases.Get(who)
	if known && !p.busy && !p.Resolving() && !p.unshown && !k.unlanded(p) {
		k.purchases.Remove(p)
		return true
	}
	return !known
}

// Claimants are all claimants with a record of creations, in no order.
func (k *Known) Claimants() []claims.ClaimID {
	var all []claims.ClaimID
	for _, p := range k.purchases.All() {
		all = append(all, p.who)
	}
	return all
}
