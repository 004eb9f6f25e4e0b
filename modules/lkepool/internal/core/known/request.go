package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// Target names the object of a request. Requests for one target share their pauses.
type Target struct {
	Op   event.Op
	ID   int
	Name string
}

// TargetOf returns the target of an action.
func TargetOf(a event.Action) Target {
	switch a.Op {
	case event.OpGetInstance, event.OpMark:
		return Target{Op: a.Op, ID: a.InstanceID}
	case event.OpCreate:
		return Target{Op: a.Op, Name: a.Key.Hash()}
	case event.OpRemove:
		return Target{Op: a.Op, ID: a.PoolID, Name: a.NodeID}
	}
	return Target{Op: a.Op, ID: a.PoolID}
}

// Request is the newest request for a target.
type Request struct {
	// Busy is how many requests are under way, and Buying how many nodes they buy.
	Busy, Buying int
	// Started is when the newest request was chosen. Began, Ended and Err belong to the newest request that ended. A read of one object that
	// was answered 404 has the 404 in Err, and does not count as failed.
	Started, Began, Ended time.Time
	Err                   error
	// Failed counts the requests that failed in a row. Since is the end of the first of these requests. Until is the end of the pause
	// after the newest of them.
	Failed       int
	Since, Until time.Time
	Sent         event.Action
}

// Hopeless reports whether requests for the target have failed so often and for so long that no claimant waits for it any more: three in a
// row, over two minutes. Before that a failed read only delays, and buys nothing. A target is not hopeless while requests are rate limited.
func (r Request) Hopeless() bool {
	return r.Failed >= tuning.MarkAttempts && r.Ended.Sub(r.Since) >= tuning.UnreadGrace && claims.KindOf(r.Err) != claims.KindRateLimited
}

// FailedSince reports whether the newest request began at t or later and failed.
func (r Request) FailedSince(t time.Time) bool {
	return r.Busy == 0 && r.Err != nil && r.Failed > 0 && !r.Began.Before(t)
}

// start notes that a request is sent.
func (r *Request) start(a event.Action, now time.Time) {
	r.Busy, r.Buying = r.Busy+1, r.Buying+a.Bought
	r.Started, r.Sent = now, a
}

// end notes how a request ended, and returns false if the request was cancelled or not sent.
func (r *Request) end(d event.Done, first time.Duration, now time.Time) bool {
	r.Busy, r.Buying = max(0, r.Busy-1), max(0, r.Buying-d.Action.Bought)
	if d.Cancelled || d.Unsent {
		return false
	}
	r.Began, r.Ended, r.Err = d.Began, now, d.Err
	single := d.Action.Op == event.OpGetPool || d.Action.Op == event.OpGetInstance
	if d.Err == nil || single && claims.KindOf(d.Err) == claims.KindNotFound {
		r.Failed, r.Until = 0, time.Time{}
		return true
	}
	if r.Failed == 0 {
		r.Since = now
	}
	pause := min(first<<min(r.Failed, 8), tuning.LongestRetry)
	r.Failed++
	r.Until = now.Add(max(pause, claims.RetryAfterOf(d.Err)))
	return true
}
