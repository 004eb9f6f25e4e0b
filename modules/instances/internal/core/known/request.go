package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// reading is the record of the direct readings of one instance. Their content is in its [Node].
type reading struct {
	running bool
	failure
	// notBefore is when a new reading can decide, after a reading that may be older than an own write.
	notBefore time.Time
	// tried is the time of the latest attempt, repeats counts the attempts after two 404s.
	tried   time.Time
	repeats int
}

// Reading is a copy of the record of the direct readings of one instance.
type Reading struct {
	Running bool
	Failed  event.Seq
	Err     error
	// NotBefore is when a new reading can decide.
	NotBefore time.Time
	// Tried is the time of the latest attempt, Repeats counts the attempts after two 404s.
	Tried   time.Time
	Repeats int
}

// listing is the list of the cluster's instances.
type listing struct {
	running bool
	began   time.Time // of the last list that succeeded, the zero time without one
	failure
	// shown has, for each instance, when the newest list that shows it began. Lists of one label count, too.
	shown map[int]time.Time
	// unclaimed contains instances with the tag of the cluster and without a claim.
	unclaimed []claims.Node
}

// Listing is a copy of the record of the lists of the cluster's instances.
type Listing struct {
	Running bool
	Began   time.Time // of the last list that succeeded, the zero time without one
	Failed  event.Seq
	Err     error
}

func (l *listing) ended(r *event.Result, seq event.Seq) (shows bool) {
	l.running = false
	switch {
	case r.Cancelled:
		return false
	case r.Err != nil:
		l.failure = failure{seq, r.Err}
		return false
	}
	l.began = r.Began
	return true
}

func (d *reading) ended(r *event.Result, seq event.Seq) (shows bool) {
	d.running = false
	if r.Err != nil && !r.Cancelled && !r.Missing() {
		d.failure = failure{seq, r.Err}
	}
	return !r.Cancelled && (r.Err == nil || r.Missing())
}

func (s *search) ended(r *event.Result, last *failure, seq event.Seq) (shows bool) {
	s.running = false
	switch {
	case r.Cancelled:
		return false
	case r.Err != nil:
		*last = failure{seq, r.Err}
		return false
	}
	s.began = r.Began
	s.inARow++
	return true
}

// reading returns the record of the direct readings of an instance, a new one if it has no record.
func (k *Known) reading(id int) *reading {
	r := k.reads[id]
	if r == nil {
		r = &reading{tried: k.now}
		k.reads[id] = r
	}
	return r
}
