package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// Read records the direct readings of one instance.
type Read struct {
	Running  bool
	Began    time.Time // of the latest that shows it
	Instance event.Instance
	// Absence contains the readings since then that lack it.
	Absence   absence.Proof
	NotBefore time.Time
	Failure
	// Tried is the time of the latest attempt, Repeats counts the attempts after two 404s.
	used, Tried time.Time
	Repeats     int
}

// Listing is the list of the cluster's instances.
type Listing struct {
	Running bool
	Began   time.Time // of the last one that succeeded; zero: none
	Failure
}

// Reading returns the record of the direct readings of an instance, for a caller that
// needs one.
func (w *World) Reading(id int) *Read {
	r := w.Reads[id]
	if r == nil {
		r = &Read{}
		w.Reads[id] = r
	}
	r.used = w.Now
	return r
}

// Again counts one more reading of an instance that answered 404 twice.
func (r *Read) Again() { r.Repeats++ }
