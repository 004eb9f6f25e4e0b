package belief

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// News reports to callers how an effect ended.
type News struct {
	// Refused is why a purchase was refused for good, nil if it was not, and Key that
	// of the purchase.
	Refused error
	Key     lkepool.Key
	// MarkRefused is why the claim of Claimant was refused, nil if it was not.
	MarkRefused error
	Claimant    claims.ClaimID
	// Grown: a purchase succeeded. Listed: a list of pools was answered.
	Grown, Listed bool
}

// Merge applies the result of an effect. What is said here of readings holds
// for all: what one shows is believed at once, what one lacks is not. Only a
// direct read that began at least the settle time after the answer that it
// contradicts takes something away; a list makes the engine look.
func (b *Belief) Merge(d event.Done) News {
	b.note(d)
	switch a := d.Action; a.Op {
	case event.OpListPools:
		return News{Listed: poolEvidence{b}.mergeList(d)}
	case event.OpListInstances:
		instanceEvidence{b}.mergeList(d)
	case event.OpGetPool:
		poolEvidence{b}.mergePool(d)
	case event.OpGetInstance:
		instanceEvidence{b}.mergeInstance(d)
	case event.OpCreate, event.OpScale:
		return writeEvidence{b}.mergeGrowth(d)
	case event.OpMark:
		return writeEvidence{b}.mergeMark(d)
	case event.OpRemove:
		writeEvidence{b}.mergeRemoval(d)
	case event.OpDrop:
		writeEvidence{b}.mergeDrop(d)
	}
	return News{}
}

// Lasting reports whether the reason of an error does not end by waiting, so
// that is returned to a claimant at once.
func Lasting(err error) bool {
	switch claims.KindOf(err) {
	case claims.KindInvalid, claims.KindForbidden, claims.KindConflict, claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		return true
	}
	return false
}
