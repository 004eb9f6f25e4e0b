package core

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// simOwn has the tags of the simulated cluster.
var simOwn = NewTags(claims.Tags{}, "demo", "")

// sim runs one schedule: the core of the engine over a model of the API, both in
// virtual time, without a goroutine.
type sim struct {
	*simPlatform
	plan   *simSchedule
	random *rand.Rand
	began  time.Time
	end    time.Time
	fates  []simFate
	trace  *strings.Builder

	core     *Core
	settings Settings
	// life counts processes; a request that an older process began is dropped.
	life  int
	calls []*simCall
	woken time.Time

	claimants []*simClaimant
	// sent has the times of creations, and requests how many there were.
	sent     []time.Time
	requests int
	proven   simProven
	// late has until when a creation of a label may still take effect.
	late map[string]time.Time
	// unlanded counts the writes that were answered and have not landed.
	unlanded int
	// writing are the writes that were sent and not answered.
	writing []*simSent
	facts   simFacts
	failure string
}

// simFacts counts what was drawn: late effects that landed, wrong 404s of a group, and
// writes that land after the death of their process.
type simFacts struct{ landed, grouped, afterDeath int }

// simCall follows a call and handles its answer.
type simCall struct {
	call *Call
	done func(Answer)
	over bool
	// until is the latest time of its next step.
	until time.Time
}

func newSim(plan *simSchedule, trace *strings.Builder) *sim {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &sim{
		plan: plan, random: rand.New(rand.NewPCG(plan.seed, 12)), trace: trace, began: start,
		late: map[string]time.Time{}, end: start.Add(simChaos + 25*time.Minute), fates: slices.Clone(plan.fates),
		simPlatform: &simPlatform{simAgenda: &simAgenda{start: start, now: start}, boot: plan.boot, room: plan.room},
	}
	s.changed = s.check
	for _, foreign := range []Instance{
		{Node: claims.Node{Name: "of-a-person"}},
		{Node: claims.Node{Name: "demo2-c0", Tags: []string{
			NewTags(claims.Tags{}, "demo2", "").Cluster, simOwn.NameTag(claims.ClaimID{Value: "c0"}),
		}}},
		{Node: claims.Node{Name: "of-this-cluster-alone", Tags: []string{simOwn.Cluster}}},
		{Node: claims.Node{Name: "lke1-2-3", Tags: []string{simOwn.Cluster, simOwn.NameTag(claims.ClaimID{Value: "c0"})}}, Foreign: true},
	} {
		foreign.Status = "running"
		s.add(foreign, true).history[0].at = start.Add(simLongAgo)
	}
	return s
}

func (s *sim) logf(format string, args ...any) {
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%8.2f "+format+"\n", append([]any{s.now.Sub(s.began).Seconds()}, args...)...)
	}
}

// violated keeps the first violation.
func (s *sim) violated(format string, args ...any) {
	if s.failure == "" {
		s.failure = fmt.Sprintf("at %.2f s: ", s.now.Sub(s.began).Seconds()) + fmt.Sprintf(format, args...)
		s.logf("VIOLATED: %s", s.failure)
	}
}

func (s *sim) run() string {
	s.process(true)
	for i := range s.plan.lives {
		c := &simClaimant{sim: s, plan: s.plan.lives[i], name: fmt.Sprintf("c%d", i), uid: fmt.Sprintf("u%d", i)}
		if c.plan.heir && i > 0 {
			c.before, c.name = s.claimants[i-1], s.claimants[i-1].name
		}
		s.claimants = append(s.claimants, c)
		s.after(c.plan.at, c.begin)
	}
	for _, step := range s.plan.steps {
		s.after(step.at, func() { s.happens(step) })
	}
	s.after(simChaos, func() { s.fates = nil; s.room = 0; s.logf("chaos ends") })
	s.after(30*time.Second, s.sweeps)
	// Where ceilings make claimants wait for each other, a place may be free right before the end.
	for n := 0; s.play() && n < simQueue && s.settings.Bounded() && s.busy(); n++ {
		s.end = s.end.Add(simYoung)
	}
	if s.failure == "" {
		s.atRest()
	}
	return s.failure
}

// play lets everything happen until the end, and reports whether nothing was violated.
func (s *sim) play() bool {
	for s.failure == "" && s.step(s.end) {
		s.pump()
	}
	return s.failure == ""
}

const (
	// simYoung is the age below which an instance may still be prepared, or its removal be proven.
	simYoung = 5 * time.Minute
	// simQueue is how many times that the end waits at most for the requests in the queue.
	simQueue = 24
)

// busy reports whether a claimant is about to get its instance, or to lose it.
func (s *sim) busy() bool {
	return slices.ContainsFunc(s.claimants, func(c *simClaimant) bool {
		return c.alive && (c.releasing || !c.served && !c.beyondCeilings())
	}) || slices.ContainsFunc(s.instances, func(i *simInstance) bool { return !i.foreign && s.now.Sub(i.born) < simYoung })
}

// process begins a life of the program.
func (s *sim) process(clean bool) {
	s.die()
	s.life++
	s.settings = Settings{
		Cluster: "demo", OrphanTTL: s.plan.orphanTTL, Creations: s.plan.creations, Ceilings: s.plan.ceilings(),
		SettleTime: s.plan.settleTime, ListLag: s.plan.listLag, LateEffect: s.plan.lateEffect,
	}.WithDefaults()
	if s.plan.holder {
		s.settings.Records = claims.Holder(s.holder)
	}
	s.core = New(s.settings, simOwn, s.now)
	if clean {
		s.core.Begin(claims.Ended, s.now)
	}
	s.proven = newProven()
	s.calls = nil
	s.logf("process %d begins, after one that ended: %t", s.life, clean)
}

func (s *sim) holder(id int) (claims.Claimant, bool) {
	for _, c := range s.claimants {
		if c.id == id && c.aliveAt(s.now.Add(-s.plan.holderLag)) && !c.answeredAt.After(s.now.Add(-s.plan.holderLag)) {
			return c.claimant(), true
		}
	}
	return claims.Claimant{}, false
}

// call begins a call. Its caller leaves after timeout, and never for 0.
func (s *sim) call(ask Ask, timeout time.Duration, done func(Answer)) {
	c := &simCall{call: s.core.Admit(ask, s.now), done: done}
	s.calls = append(s.calls, c)
	life := s.life
	if timeout > 0 {
		s.after(timeout, func() {
			if life == s.life && !c.over {
				s.finish(c, s.core.Leave(c.call, context.DeadlineExceeded, s.now))
			}
		})
	}
}

func (s *sim) finish(c *simCall, a Answer) {
	c.over = true
	s.core.Dismiss(c.call, s.now)
	s.answeredWith(a)
	s.calls = slices.DeleteFunc(s.calls, func(other *simCall) bool { return other == c })
	c.done(a)
}

// pump continues all calls until all of them wait.
func (s *sim) pump() {
	for progress := true; progress && s.failure == ""; {
		progress = false
		for _, c := range slices.Clone(s.calls) {
			if c.over {
				continue
			}
			next := s.core.Next(c.call, s.now)
			switch {
			case next.End != nil:
				s.finish(c, *next.End)
				progress = true
			case next.Effect != nil:
				s.start(*next.Effect)
				progress = true
			default:
				c.until = next.Until
			}
		}
	}
	s.checkSlots()
	first := time.Time{}
	for _, c := range s.calls {
		if !c.until.IsZero() && (first.IsZero() || c.until.Before(first)) {
			first = c.until
		}
	}
	if !first.IsZero() && (s.woken.Before(s.now) || s.woken.Equal(s.now) || first.Before(s.woken)) {
		if !first.After(s.now) {
			s.violated("a call waits for a time that has come: it would spin")
			return
		}
		s.woken = first
		s.after(first.Sub(s.now), func() {})
	}
}

// sweeps collects every two minutes.
func (s *sim) sweeps() {
	s.after(2*time.Minute, s.sweeps)
	s.call(Ask{Kind: AskList}, time.Minute, func(a Answer) {
		if a.Err != nil {
			return
		}
		var alive []claims.ClaimID
		for _, c := range s.claimants {
			c.noticeLoss(a.Instances)
			c.checkListed(a.Instances)
			if c.aliveAt(s.now.Add(-s.plan.aliveLag)) {
				alive = append(alive, simOwn.ID(c.claimant()))
			}
		}
		found := s.core.Survey(alive, s.now)
		for _, id := range found.Stripped {
			s.call(Ask{Kind: AskTags, ID: id}, time.Minute, func(Answer) {})
		}
		for _, orphan := range found.Orphans {
			s.call(Ask{Kind: AskEvict, ID: orphan.InstanceID, Alive: alive}, time.Minute, func(Answer) {})
		}
	})
}
