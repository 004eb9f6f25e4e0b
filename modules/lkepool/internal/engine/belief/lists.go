package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// lists are the two that there are.
type lists struct{ PoolList, InstanceList List }

// Reported notes that the callers were given the errors.
func (l *lists) Reported() { l.PoolList.Err, l.InstanceList.Err = nil, nil }

// List is the state of a list of pools or of instances.
type List struct {
	// Began is when the newest answered one did, tried the newest of all.
	Began, tried time.Time
	// witnessed: one has shown all that there was when this process began to lead.
	witnessed bool
	Busy      bool
	Retry     backoff
	Err       error
}

// start notes that the list is being read.
func (l *List) start(now time.Time) { l.Busy, l.tried = true, now }

// end notes the end of a list, and reports whether it was answered.
func (l *List) end(d event.Done, first time.Duration, now time.Time) bool {
	l.Busy = false
	if d.Cancelled {
		return false
	}
	if l.Err = d.Err; d.Err != nil {
		l.Retry.fail(now, first, claims.RetryAfterOf(d.Err))
		return false
	}
	l.Began, l.Retry = Latest(l.Began, d.Began), backoff{}
	return true
}

// FailedSince reports whether the newest attempt began at t or later and failed.
func (l *List) FailedSince(t time.Time) bool { return !l.Busy && l.Err != nil && !l.tried.Before(t) }
