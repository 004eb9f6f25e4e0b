package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Trace is the evidence of the existence of one object. It is part of the record of a
// node or pool, and all that is kept of one without a record.
type Trace struct {
	// Evidence is from readings of the object, and of lists.
	Evidence absence.Evidence
	Direct   DirectRead
	// Removed is when the platform accepted this process's removal, zero for never.
	Removed time.Time
	// named is when the newest reading of a pool began that names an instance which is gone.
	named time.Time
}

// absent are the objects without a record: what was proven gone, because late lists show
// it again, and the pools that instances name and no reading has shown.
type absent struct{ Nodes, Pools table[*Trace] }

// Gone reports whether it is proven that the object does not exist any more.
func (t *Trace) Gone() bool { return !t.Evidence.Ended.IsZero() }

// seen reports whether a reading ever showed the object.
func (t *Trace) seen() bool { return !t.Evidence.Last.IsZero() }

// name notes that a pool names an instance which is gone.
func (t *Trace) name(began time.Time) { t.named = Latest(t.named, began) }

// outdated reports whether no reading that began then or later shows the object. One that the
// newest list of pools names is not: a slot that an instance left stays vacant.
func (t *Trace) outdated(began, pools time.Time) bool {
	return began.Sub(Latest(Latest(t.Evidence.Ended, t.Evidence.Last), t.named)) > tuning.GoneMemory && t.named.Before(pools)
}
