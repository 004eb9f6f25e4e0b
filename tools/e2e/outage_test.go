package e2e_test

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// An outage is a time without the operator that scenarios in different lanes share: it begins when each of them is ready
// for it, and is over when each has done what it needs it for.
type outage struct {
	ready, ended *meeting
	failed       error // of the operator's start; read after the end
}

func newOutage(t *testing.T, e *environment, lanes ...string) *outage {
	o := &outage{ready: newMeeting(lanes, e.Operator.Kill)}
	o.ended = newMeeting(lanes, func() { o.failed = e.Operator.Start(t.Context()) })
	return o
}

func (o *outage) begin(lane string) { o.ready.arrive(lane) }

func (o *outage) over(t *testing.T, lane string) {
	t.Helper()
	o.ended.arrive(lane)
	NewWithT(t).Expect(o.failed).NotTo(HaveOccurred())
}

// part is inLane, of a scenario that shares the outage; when it has failed or was not chosen, the others do not wait for it.
func (o *outage) part(lane, name string, do func(*testing.T, *environment, *outage)) part {
	p := inLane(lane, name, func(t *testing.T, e *environment) { do(t, e, o) }, swept)
	p.ended = func() {
		o.ready.strike(lane)
		o.ended.strike(lane)
	}
	return p
}

// A meeting takes place when all have come, or will not come.
type meeting struct {
	place func() // what happens then, once
	over  chan struct{}

	mu      sync.Mutex
	missing map[string]bool
}

func newMeeting(names []string, place func()) *meeting {
	m := &meeting{missing: map[string]bool{}, over: make(chan struct{}), place: place}
	for _, name := range names {
		m.missing[name] = true
	}
	return m
}

// arrive returns when the meeting is over.
func (m *meeting) arrive(name string) {
	m.strike(name)
	<-m.over
}

// strike takes a scenario off the missing ones, because it has arrived or will not arrive.
func (m *meeting) strike(name string) {
	m.mu.Lock()
	last := len(m.missing) == 1 && m.missing[name]
	delete(m.missing, name)
	m.mu.Unlock()
	if last {
		m.place()
		close(m.over)
	}
}
