package leadership

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// ErrUnanswered is the error when the Lease is not released because a write may still take effect.
var ErrUnanswered = errors.New("a write of this replica or of the previous leader to the Linode API has no answer and may take effect: " +
	"the Lease is left to expire")

// unanswered records the writes that may still take effect: writes under way, and failed writes whose effect is not known.
type unanswered struct {
	lateEffect time.Duration // the longest time after its failure in which a write may still take effect

	mu       sync.Mutex
	underWay int
	failed   bool
	last     moment // when the newest write failed, or when this replica followed a replica that may still write
}

// inherit records that writes of an earlier replica may still take effect.
func (u *unanswered) inherit(now moment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed, u.last = true, now
}

// begin records a write that is about to be sent.
func (u *unanswered) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.underWay++
}

// end records the end of a write. open means that the effect of the write is not known.
func (u *unanswered) end(open bool, now moment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.underWay--
	if open {
		u.failed, u.last = true, now
	}
}

// any returns whether a write may still take effect. After a failure, lateEffect must have passed on both clocks, because the wall clock
// may be set, and the monotonic clock may stop while a VM is paused.
func (u *unanswered) any(now moment) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.underWay > 0 || u.failed && (now.wall.Sub(u.last.wall) < u.lateEffect || now.mono-u.last.mono < u.lateEffect)
}

// leavesOpen returns whether it is not known from an answer whether the API has carried out the request, or will do so later.
func leavesOpen(answer *http.Response, err error) bool {
	return err != nil || answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusRequestTimeout
}
