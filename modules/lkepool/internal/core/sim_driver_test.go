package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// sim drives the core alone through one schedule: it executes the core's
// actions on the model, feeds the results back in the order in which they
// happen to arrive, and checks the invariants after every event.
type sim struct {
	*simPlatform
	plan      *simSchedule
	process   simProcess
	fates     []simFate
	inflight  []*simEffect
	waiting   []simCaller
	tokens    int
	claimants []*simClaimant
	looked    []simLook
	facts     simFacts
	// late is how many writes are to land that were answered with an error.
	late int
	// trace is nil unless the course of events is to be written down.
	trace *strings.Builder
	// wrote is called for every write that reaches the platform.
	wrote func(Action, *simEffect)
	// timed, if set, adds up the time that the core takes.
	timed *time.Duration
	// failure is the first violation.
	failure string
}

// simFacts records the facts for which some invariants make exceptions.
type simFacts struct {
	calls, lists int
	// releases counts the calls of Release, which are not rest.
	releases int
	// noRoom: the platform refused a purchase for capacity or a limit.
	noRoom bool
	// settled is when everything was at rest.
	settled time.Duration
	events  int
	// simSight records what happened since nodes were last hidden, sights what did before.
	simSight
	sights []simSight
	// misled: a list lacked pools.
	misled bool
	// landed and grouped are how many writes landed late, and how many reads were
	// answered with a 404 of a group.
	landed, grouped int
	// unjoined: nodes were reported that did not join.
	unjoined bool
	times    simTimes
	// minutes are the running two minutes, inMinutes counts their requests, callers the calls that had ended before, and busiest is the most
	// requests, less 3 for each call. repeats counts the requests for each object in the running span.
	minutes, spans              time.Duration
	inMinutes, callers, busiest int
	repeats                     map[string]int
	// released is how many processes gave their Lease back.
	released int
	// hidden is how many nodes earlier processes bought or claimed where lists
	// could not show that yet to the one that took over, or left it out.
	hidden int
}

// simSight is a time in which the process that led could see what there was. aside is
// how many instances could not be tagged, and lost how many nodes purchases bought
// whose answer was lost.
type simSight struct{ passed, lost int }

// simEffect is a request under way.
type simEffect struct {
	action   Action
	fate     simFate
	executed bool
	canceled bool
	ended    bool
	result   Done
	// life is the process that sent it; it began on that one's clock.
	life  int
	began time.Time
	sent  time.Duration
	// looked is when the newest read of the pool began. asOf is the moment that the
	// answer shows.
	looked, asOf time.Duration
	// lands is when a late one takes effect.
	lands time.Duration
}

// simCaller waits for an answer.
type simCaller struct {
	token int
	what  string
	ask   Ask
	then  func(Answer)
}

// simLook is when the newest answered direct read of a pool began.
type simLook struct {
	pool  int
	began time.Duration
}

// simTags are the tags of the operator.
var simTags = NewTagging(claims.Tags{})

var simEpoch = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

var simKeys = []lkepool.Key{
	{NodePool: "web", InstanceType: "g6-standard-2"},
	{NodePool: "db", InstanceType: "g6-standard-2", Template: lkepool.Template{Labels: map[string]string{"tier": "db"}}},
	{NodePool: "web", InstanceType: "g6-standard-4",
		Template: lkepool.Template{Taints: []lkepool.Taint{{Key: "only", Value: "a", Effect: "NoSchedule"}}}},
}

func newSim(plan *simSchedule, trace *strings.Builder) *sim {
	w := plan.world
	s := &sim{plan: plan, trace: trace, fates: slices.Clone(plan.fates), simPlatform: &simPlatform{
		Agenda: &schedule.Agenda{}, random: rand.New(rand.NewPCG(plan.seed, 5)), enterprise: plan.enterprise,
		repairs: w.repairs, room: w.room, full: w.full,
		delays: simDelays{idLeast: w.idLeast, idMost: w.idMost, listed: time.Minute, tagged: time.Second, boot: 40 * time.Second,
			gone: 30 * time.Second},
	}}
	foreign := s.newPool(lkepool.Pool{InstanceType: "g6-standard-2", Tags: []string{"made-by=hand"}}, true)
	s.grow(foreign, 1)
	return s
}

// local is the time on the process's clock.
func (s *sim) local() time.Time { return simEpoch.Add(s.Now + s.process.clock) }

// runUntil lets everything happen that is due until then.
func (s *sim) runUntil(until time.Duration) {
	for s.failure == "" {
		next, ok := s.Next()
		if p := &s.process; p.ticking && p.tick <= until && (!ok || p.tick <= next) {
			if p.tick > s.Now {
				s.Now, p.spins = p.tick, 0
			}
			if p.spins++; p.spins > 50 {
				s.fail("I7: the core asks for a tick at once, for ever")
				return
			}
			s.feed(Tick{})
			continue
		}
		if !ok || next > until {
			s.Now = max(s.Now, until)
			return
		}
		if next > s.Now {
			s.process.spins = 0
		}
		s.Step(until)
	}
}

// feed gives the core an event and does what it wants done.
func (s *sim) feed(e Event) {
	if s.failure != "" {
		return
	}
	s.facts.events++
	text := s.describeEvent(e)
	began := time.Now()
	actions := s.process.core.Handle(e, s.local())
	if s.timed != nil {
		*s.timed += time.Since(began)
	}
	s.describe(text, actions)
	for _, a := range actions {
		if a.Op == OpAnswer {
			s.deliver(a)
		}
	}
	for _, a := range actions {
		if a.Op != OpAnswer {
			s.begin(a)
		}
	}
	s.schedule(actions)
}

// schedule notes when the core wants a tick.
func (s *sim) schedule(actions []Action) {
	wake, p := s.process.core.Wake(), &s.process
	p.ticking = !wake.IsZero()
	p.tick = max(s.Now, wake.Sub(simEpoch)-p.clock)
	if len(s.waiting) == 0 {
		// The shell lets writes end, cancels reads, and ticks no more.
		p.ticking = false
		s.cancelReads()
		for _, a := range actions {
			if a.Op != OpAnswer {
				s.fail("I7: no caller waits, and the core goes on: %s", s.describeAction(a))
			}
		}
	}
	if len(s.waiting) > 0 && !p.ticking && len(s.inflight) == 0 {
		s.fail("I10: %s waits, and nothing is under way nor a tick wanted", s.waiting[0].what)
	}
}

// ask adds a caller. then is called once, also when the process dies.
func (s *sim) ask(what string, a Ask, patience time.Duration, then func(Answer)) {
	if s.process.core == nil {
		again := a // so that a is copied to the heap in this case alone
		s.After(time.Second, func() { s.ask(what, again, patience, then) })
		return
	}
	s.tokens++
	token := s.tokens
	s.waiting = append(s.waiting, simCaller{token: token, what: what, ask: a, then: then})
	s.After(patience, func() {
		if s.caller(token) < 0 || s.failure != "" {
			return
		}
		s.feed(Left{Token: token, Cause: errSimDeadline})
		if s.caller(token) >= 0 {
			s.fail("I10: %s is not answered at its deadline", what)
		}
	})
	s.feed(Asked{Token: token, Ask: a})
}

func (s *sim) caller(token int) int {
	return slices.IndexFunc(s.waiting, func(c simCaller) bool { return c.token == token })
}

func (s *sim) deliver(a Action) {
	at := s.caller(a.Token)
	if at < 0 {
		s.fail("a caller is answered that does not wait: token %d", a.Token)
		return
	}
	c := s.waiting[at]
	s.waiting = slices.Delete(s.waiting, at, at+1)
	result := a.Answer
	s.After(0, func() { c.then(*result) })
}

func (s *sim) fail(format string, args ...any) {
	if s.failure == "" {
		s.failure = fmt.Sprintf("at %s: ", s.Now) + fmt.Sprintf(format, args...)
		s.note("VIOLATION %s", s.failure)
	}
}
