package leadership_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
)

// A transport that gives one answer, or an error.
type gives struct {
	status int
	err    error
	after  time.Duration
}

func (g gives) RoundTrip(request *http.Request) (*http.Response, error) {
	time.Sleep(g.after) // virtual
	if g.err != nil {
		return nil, g.err
	}
	return &http.Response{StatusCode: g.status, Body: http.NoBody, Request: request}, nil
}

// lateEffect is how long writes of the tests may take effect late.
const lateEffect = 2 * time.Minute

// The next replica takes a Lease that was given back for the word that nothing of this one takes effect any more.
func TestALeaseIsGivenBackOnlyWhenNoWriteMayTakeEffectYet(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		answer gives
		later  time.Duration // between the answer and the end of the process
		kept   bool
	}{
		"a write that succeeded":                   {method: "PUT", answer: gives{status: 200}},
		"a write that was refused":                 {method: "PUT", answer: gives{status: 400}},
		"a write that was limited":                 {method: "POST", answer: gives{status: 429}},
		"a gateway that gave up":                   {method: "PUT", answer: gives{status: 504}, kept: true},
		"a server that gave up waiting":            {method: "PUT", answer: gives{status: 408}, kept: true},
		"a connection that broke":                  {method: "DELETE", answer: gives{err: io.ErrUnexpectedEOF}, kept: true},
		"a gateway that gave up almost 2 m before": {method: "PUT", answer: gives{status: 504}, later: lateEffect - 1, kept: true},
		"a gateway that gave up 2 minutes before":  {method: "PUT", answer: gives{status: 504}, later: lateEffect},
		"a read that failed":                       {method: "GET", answer: gives{status: 504}},
		"a write that has no answer yet": {method: "POST", answer: gives{status: 200, after: time.Minute}, later: -time.Second,
			kept: true},
		"a write that was answered at the very end": {method: "POST", answer: gives{status: 200, after: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t)
				r.acquire()
				request, err := http.NewRequestWithContext(t.Context(), test.method, "https://api.linode.com/v4/linode/instances/1", nil)
				r.must(err)
				go func() {
					if answer, err := r.fence.Guard(test.answer).RoundTrip(request); err == nil {
						_ = answer.Body.Close()
					}
				}()
				for end := test.answer.after + test.later; end > 0; end -= time.Second { // it leads all the time
					time.Sleep(min(end, time.Second))
					r.must(r.update("replica-1"))
				}
				synctest.Wait()
				if err := r.update(""); errors.Is(err, leadership.ErrUnanswered) != test.kept || err == nil == test.kept {
					t.Errorf("giving it back: %v, kept: want %t", err, test.kept)
				}
				if held, _, err := r.lock.Get(t.Context()); err != nil || held.HolderIdentity == "" == test.kept {
					t.Errorf("the Lease is %+v (%v)", held, err)
				}
				r.may(false)
				time.Sleep(test.answer.after) // so that the write ends
			})
		})
	}
}

// A write that was held back was not sent.
func TestAWriteThatWasHeldBackKeepsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.may(false)
		r.acquire()
		r.must(r.update(""))
	})
}

// A request of a dead replica may take effect even after the next replica has died.
func TestALeaseIsNotGivenBackWhileTheReplicaBeforeMayStillWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.cluster.record = new(record("replica-0"))
		r.must(r.update("replica-1"))
		if err := r.update(""); !errors.Is(err, leadership.ErrUnanswered) {
			t.Errorf("giving it back at once: %v", err)
		}
		for range int(lateEffect / time.Second) {
			r.must(r.update("replica-1"))
			time.Sleep(time.Second)
		}
		r.must(r.update(""))
	})
}
