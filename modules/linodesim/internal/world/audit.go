package world

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

func (w *Moment) record(by account.Actor, e account.Entry) { w.recordOf("", by, e) }

// recordOf records a change of an object that may be gone already, so label names it.
func (w *Moment) recordOf(label string, by account.Actor, e account.Entry) {
	e.Seq = len(w.records.audit) + 1
	e.At = w.now
	e.Actor = by
	w.records.audit = append(w.records.audit, e)
	w.instantly(label, e)
	w.history.changed = true
}

// Audit gives every change so far, oldest first.
func (w *Moment) Audit() []account.Entry {
	return slices.Clone(w.records.audit)
}
