package engine_test

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// Take lets a move happen.
func (w *smallWorld) Take(m smallMove) {
	switch m.kind {
	case moveWait:
		w.wait()
	case moveComes:
		w.come(m.claimant)
	case moveReleases:
		w.claimants[m.claimant].releasing = true
		w.release(m.claimant)
	case moveCrashes:
		w.takeOver(false)
	case moveEnds:
		w.takeOver(true)
	case moveLandsLate:
		e := w.late[m.effect]
		w.late = slices.Delete(w.late, m.effect, m.effect+1)
		w.land(&e)
	case moveLands:
		w.land(&w.under[m.effect])
	case moveIsSlow:
		w.faults--
		w.under[m.effect].slow = true
	default:
		w.end(m)
	}
	w.settle()
}

// end answers a request.
func (w *smallWorld) end(m smallMove) {
	e := w.under[m.effect]
	d := e.answer
	switch m.kind {
	case moveShows:
		d = w.viewsOf(&e)[m.view].read(e.action)
	case moveAnswers:
	case moveFails:
		w.faults--
		d = engine.Done{Err: smallError(e.action, claims.KindUnavailable, claims.EffectNone)}
	case moveMissing:
		w.faults--
		d = engine.Done{Err: smallError(e.action, claims.KindNotFound, claims.EffectNone)}
	case moveLosesAnswer, moveIsLate:
		w.faults--
		d = w.unanswered(e)
	}
	w.under = slices.Delete(w.under, m.effect, m.effect+1)
	w.done(e, d)
}

// unanswered is the end of a write whose effect is not known: it has had it, or may have it yet.
func (w *smallWorld) unanswered(e smallEffect) engine.Done {
	w.excused += e.action.Bought
	if !e.landed {
		e.until = w.now.Add(w.bound.cfg.LateEffect)
		w.late = append(w.late, e)
	}
	return engine.Done{Err: smallError(e.action, claims.KindUnavailable, claims.EffectUnknown)}
}

func (w *smallWorld) done(e smallEffect, d engine.Done) {
	d.Action, d.Began = e.action, e.sent
	w.feed(d)
}

// wait lets time pass until something is due, and what is due happen.
func (w *smallWorld) wait() {
	w.now = latest(w.now, w.next())
	if w.now.Sub(smallEpoch) > smallHorizon {
		w.fail("I10: not at rest after %s: %s", smallHorizon, w.disorder())
		return
	}
	w.platform.elapse(w.now)
	w.late = slices.DeleteFunc(w.late, func(e smallEffect) bool { return !w.now.Before(e.until) })
	for i := 0; i < len(w.under); i++ {
		e := w.under[i]
		if w.now.Before(w.expires(e)) {
			continue
		}
		w.under = slices.Delete(w.under, i, i+1)
		i--
		if e.action.Op.Write() {
			w.done(e, w.unanswered(e))
		} else {
			w.done(e, engine.Done{Err: smallError(e.action, claims.KindUnavailable, claims.EffectNone)})
		}
	}
	for i := range w.claimants {
		if c := &w.claimants[i]; !c.again.IsZero() && !w.now.Before(c.again) {
			c.again = time.Time{}
			w.call(i)
		}
	}
	if !w.sweep.at.IsZero() && !w.now.Before(w.sweep.at) {
		w.sweep.at = w.now.Add(smallSweepEvery)
		if w.sweep.token == 0 {
			w.sweeps(engine.Ask{Kind: engine.AskList})
		}
	}
	if wake := w.core.Wake(); !w.core.Idle() && !wake.IsZero() && !w.now.Before(wake) {
		w.feed(engine.Tick{})
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// feed gives the core an event and does what it wants done.
func (w *smallWorld) feed(e engine.Event) {
	if w.broken != "" {
		return
	}
	actions := w.core.Handle(e, w.now)
	for _, a := range actions {
		if a.Op != engine.OpAnswer {
			w.begin(a)
		}
	}
	for _, a := range actions {
		if a.Op == engine.OpAnswer {
			w.deliver(a.Token, *a.Answer)
		}
	}
	if w.core.Idle() {
		w.cancelReads()
	} else if w.core.Wake().IsZero() && len(w.under) == 0 {
		w.fail("I10: a caller waits, and nothing is under way nor a tick wanted")
	}
}

// cancelReads ends the reads that no caller waits for, as the shell does.
func (w *smallWorld) cancelReads() {
	for {
		at := slices.IndexFunc(w.under, func(e smallEffect) bool { return !e.action.Op.Write() })
		if at < 0 {
			return
		}
		e := w.under[at]
		w.under = slices.Delete(w.under, at, at+1)
		w.done(e, engine.Done{Err: context.Canceled, Cancelled: true})
	}
}

func (w *smallWorld) begin(a engine.Action) {
	if a.Op == engine.OpScale {
		w.checkSent(a)
	}
	w.under = append(w.under, smallEffect{action: a, sent: w.now})
}

// land lets a write take effect.
func (w *smallWorld) land(e *smallEffect) {
	e.landed = true
	w.checkWrite(e.action)
	e.answer = w.platform.write(e.action, w.now, w.bound.arrives)
	w.checkBought()
}

// takeOver lets another process lead, at once. What the one before has sent and was not
// answered may take effect for as long as late writes may, or never.
func (w *smallWorld) takeOver(clean bool) {
	w.over = true
	for _, e := range w.under {
		if e.action.Op.Write() {
			w.unanswered(e)
		}
	}
	w.under = nil
	// Lists that lag do not show the new process what the one before bought or claimed.
	w.excused += len(w.claimants)
	w.lead(clean)
	for i := range w.claimants {
		if w.claimants[i].token != 0 {
			w.call(i)
		}
	}
}

// come lets a claimant call Claim for the first time.
func (w *smallWorld) come(i int) {
	w.claimants[i].came = true
	w.call(i)
}

// call repeats what the claimant wants.
func (w *smallWorld) call(i int) {
	if w.claimants[i].releasing {
		w.release(i)
		return
	}
	c := &w.claimants[i]
	c.calls++
	c.token = 100*(i+1) + c.calls
	w.feed(engine.Asked{Token: c.token, Ask: engine.Ask{Kind: engine.AskClaim, Request: lkepool.Request{Claimant: c.who, Key: smallKey}}})
}

func (w *smallWorld) release(i int) {
	c := &w.claimants[i]
	c.again = time.Time{}
	c.calls++
	c.token = 100*(i+1) + c.calls
	w.feed(engine.Asked{Token: c.token, Ask: engine.Ask{Kind: engine.AskRelease, ID: c.handed, By: c.who}})
}

// deliver gives a caller its answer.
func (w *smallWorld) deliver(token int, a engine.Answer) {
	if token == w.sweep.token {
		w.swept(a)
		return
	}
	at := slices.IndexFunc(w.claimants, func(c smallClaimant) bool { return c.token == token })
	if at < 0 {
		w.fail("a caller is answered that does not wait: token %d", token)
		return
	}
	c := &w.claimants[at]
	c.token = 0
	switch {
	case c.releasing && claims.KindOf(a.Err) == claims.KindNotFound:
		if w.platform.instance(c.handed).lives() {
			w.fail("I6: instance %d of %s is reported as gone", c.handed, c.who.Name)
		}
		c.gone = true
	case c.releasing, a.Err != nil:
		c.again = w.now.Add(max(smallAgain, claims.RetryAfterOf(a.Err)))
	default:
		w.checkHanded(c, a.Node)
		c.handed = a.Node.InstanceID
	}
}

// sweeps runs the next stage of a sweep.
func (w *smallWorld) sweeps(a engine.Ask) {
	w.sweep.runs++
	w.sweep.token, w.sweep.stage = sweepToken+w.sweep.runs*1000, a.Kind
	w.feed(engine.Asked{Token: w.sweep.token, Ask: a})
}

// swept goes on with a sweep: claimed nodes are listed, orphans chosen, and evicted.
func (w *smallWorld) swept(a engine.Answer) {
	w.sweep.token = 0
	if a.Err != nil {
		return
	}
	switch w.sweep.stage {
	case engine.AskList:
		w.sweep.alive = nil
		for _, c := range w.claimants {
			if c.came && !c.gone {
				w.sweep.alive = append(w.sweep.alive, c.who)
			}
		}
		w.sweeps(engine.Ask{Kind: engine.AskOrphans, Alive: w.sweep.alive})
	case engine.AskOrphans:
		var ids []int
		for _, n := range a.Nodes {
			ids = append(ids, n.InstanceID)
		}
		w.sweeps(engine.Ask{Kind: engine.AskEvict, Alive: w.sweep.alive, Orphans: ids})
	case engine.AskEvict:
		w.sweep.alive = nil
	}
}
