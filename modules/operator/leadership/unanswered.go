package leadership

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// ErrUnanswered is the cause when the Lease was not given back.
var ErrUnanswered = errors.New("a write of this replica or of the previous leader to the Linode API has no answer and may take effect: " +
	"the Lease is left to expire")

// unanswered records the writes that may take effect yet: writes under way, and writes whose answer leaves open what they did.
type unanswered struct {
	lateEffect time.Duration // how long after its failure a write may still take effect

	mu       sync.Mutex
	underWay int
	failed   bool
	last     moment // when the newest write failed, or when this replica followed a replica that may still write
}

// inherit notes that writes of a replica before may take effect yet.
func (u *unanswered) inherit(now moment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed, u.last = true, now
}

// begin notes a write that is sent.
func (u *unanswered) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.underWay++
}

// end notes its answer. open: what it did is not known.
func (u *unanswered) end(open bool, now moment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.underWay--
	if open {
		u.failed, u.last = true, now
	}
}

// any reports whether a write may take effect yet. It is over when both clocks say so: either may stand still.
func (u *unanswered) any(now moment) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.underWay > 0 || u.failed && (now.wall.Sub(u.last.wall) < u.lateEffect || now.mono-u.last.mono < u.lateEffect)
}

// leavesOpen reports whether the request of an answer may be carried out later, or was.
func leavesOpen(answer *http.Response, err error) bool {
	return err != nil || answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusRequestTimeout
}
