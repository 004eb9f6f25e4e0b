package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/event"
)

// Take lets a move happen.
func (w *smallWorld) Take(m smallMove) {
	c := &w.claimants[m.claimant]
	switch m.kind {
	case moveWait:
		w.wait()
	case moveComes:
		c.came = true
		w.create(m.claimant)
	case moveReleases:
		c.releasing = true
		w.release(m.claimant)
	case moveQuits:
		w.quit(c)
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
	w.pump()
	w.settle()
}

// Text describes a move.
func (w *smallWorld) Text(m smallMove) string {
	text := fmt.Sprintf("%8.2f %s", w.now.Sub(smallEpoch).Seconds(), [...]string{
		"time passes", "claimant comes", "claimant releases", "claimant quits", "shows", "takes effect", "is answered", "fails",
		"loses its answer", "is late", "is missing", "is slow", "takes effect late", "crash", "clean end",
	}[m.kind])
	switch {
	case m.kind == moveLandsLate:
		text += ": " + describe(&w.late[m.effect])
	case m.kind == moveShows:
		text += fmt.Sprintf(": %s: %q", describe(&w.under[m.effect]), w.viewsOf(&w.under[m.effect])[m.view].text(&w.under[m.effect].Effect))
	case m.kind >= moveLands && m.kind <= moveIsSlow:
		text += ": " + describe(&w.under[m.effect])
	}
	return text
}

func describe(e *smallEffect) string {
	return fmt.Sprintf("%s %d %s %s %v (%s)", e.Op, e.ID, e.Who.Value, e.Disk, e.Tags, e.Reason)
}

// end answers a request.
func (w *smallWorld) end(m smallMove) {
	e := w.under[m.effect]
	r := e.answer
	switch m.kind {
	case moveShows:
		r = w.viewsOf(&e)[m.view].read(e.Effect)
	case moveAnswers:
	case moveFails:
		w.faults--
		r = Result{Err: smallError(e.Op, claims.KindUnavailable, claims.EffectNone)}
	case moveMissing:
		w.faults--
		r = Result{Err: smallError(e.Op, claims.KindNotFound, claims.EffectNone)}
	case moveLosesAnswer, moveIsLate:
		w.faults--
		r = w.unanswered(e)
	}
	w.under = slices.Delete(w.under, m.effect, m.effect+1)
	w.done(e, r)
}

// unanswered is the end of a write whose effect is not known: it has had it, or may have it yet.
func (w *smallWorld) unanswered(e smallEffect) Result {
	if !e.landed {
		e.until = w.now.Add(w.settings.LateEffect)
		w.late = append(w.late, e)
	}
	return Result{Err: smallError(e.Op, claims.KindUnavailable, claims.EffectUnknown)}
}

func (w *smallWorld) done(e smallEffect, r Result) {
	r.Effect, r.Began = e.Effect, e.sent
	w.core.Handle(r, w.now)
}

// land lets a write take effect.
func (w *smallWorld) land(e *smallEffect) {
	e.landed = true
	if e.Op == OpDelete {
		w.checkRemoval(e)
	}
	e.answer = w.platform.write(e.Effect, w.now)
	w.checkPlatform()
}

// wait lets time pass until something is due, and what is due happen.
func (w *smallWorld) wait() {
	w.now = w.next()
	if w.now.Sub(smallEpoch) > smallHorizon {
		w.fail("I10: not at rest after %s: %s", smallHorizon, w.disorder())
		return
	}
	w.platform.elapse(w.now)
	w.late = slices.DeleteFunc(w.late, func(e smallEffect) bool { return !w.now.Before(e.until) })
	for i := 0; i < len(w.under); i++ {
		e := w.under[i]
		if w.now.Before(e.sent.Add(Timeout(e.Op))) {
			continue
		}
		w.under = slices.Delete(w.under, i, i+1)
		i--
		if e.Op.Write() {
			w.done(e, w.unanswered(e))
		} else {
			w.done(e, Result{Err: smallError(e.Op, claims.KindUnavailable, claims.EffectNone)})
		}
	}
	due := func(at *time.Time) bool {
		is := !at.IsZero() && !w.now.Before(*at)
		if is {
			*at = time.Time{}
		}
		return is
	}
	for n := range w.claimants {
		c := &w.claimants[n]
		if due(&c.again) {
			w.callAgain(n)
		}
		if due(&c.editNext) {
			w.edit(n)
		}
	}
	if !w.now.Before(w.sweep) {
		w.sweep = w.now.Add(smallSweepEvery)
		if w.sweeping == 0 {
			w.sweeping++
			w.call(Ask{Kind: AskList}, ofListing, 0)
		}
	}
}

// takeOver lets another process lead, at once. What the one before has sent and was not
// answered may take effect for as long as late writes may, or never.
func (w *smallWorld) takeOver(clean bool) {
	w.over = true
	for _, e := range w.under {
		if e.Op.Write() {
			w.unanswered(e)
		}
	}
	w.under = nil
	w.lead(clean)
	for n := range w.claimants {
		c := &w.claimants[n]
		if c.calling {
			w.callAgain(n)
		}
		if c.editing {
			w.edit(n)
		}
	}
}

func (w *smallWorld) call(ask Ask, kind smallKind, claimant int) {
	w.calls = append(w.calls, &smallCall{Call: w.core.Admit(ask, w.now), kind: kind, claimant: claimant})
}

func (w *smallWorld) callAgain(n int) {
	if w.claimants[n].releasing {
		w.release(n)
	} else {
		w.create(n)
	}
}

func (w *smallWorld) create(n int) {
	c := &w.claimants[n]
	c.calling = true
	w.call(Ask{Kind: AskCreate, Order: c.order}, ofClaimant, n)
}

func (w *smallWorld) release(n int) {
	c := &w.claimants[n]
	c.calling, c.again, c.editNext = true, time.Time{}, time.Time{}
	w.call(Ask{Kind: AskDelete, ID: c.handed, By: c.who}, ofClaimant, n)
}

// quit ends a claimant that releases nothing.
func (w *smallWorld) quit(c *smallClaimant) {
	c.gone, c.again, c.calling = true, time.Time{}, false
	for _, call := range slices.Clone(w.calls) {
		if call.kind == ofClaimant && &w.claimants[call.claimant] == c {
			w.core.Leave(call.Call, context.Canceled, w.now)
			w.dismiss(call)
		}
	}
}

// smallTag is the only tag of its own that the first claimant's instance has after so many edits.
func smallTag(edits int) string { return fmt.Sprintf("edit=%d", edits) }

// edit replaces a tag of the claimant's instance by the next one.
func (w *smallWorld) edit(n int) {
	c := &w.claimants[n]
	c.editing = true
	w.call(Ask{
		Kind: AskTags, ID: c.handed, By: c.who, Remove: []string{smallTag(c.edits)}, Add: []string{smallTag(c.edits + 1)},
	}, ofEdit, n)
}

func (w *smallWorld) dismiss(c *smallCall) {
	w.core.Dismiss(c.Call, w.now)
	w.calls = slices.DeleteFunc(w.calls, func(other *smallCall) bool { return other == c })
}

// pump continues all calls until all of them wait. Reads end with the last caller.
func (w *smallWorld) pump() {
	for progress := true; progress && w.broken == ""; {
		progress = false
		for _, c := range slices.Clone(w.calls) {
			if !slices.Contains(w.calls, c) {
				continue
			}
			switch next := w.core.Next(c.Call, w.now); {
			case next.End != nil:
				w.dismiss(c)
				w.answered(c, *next.End)
				progress = true
			case next.Effect != nil:
				w.begin(*next.Effect)
				progress = true
			default:
				c.until = next.Until
				if !c.until.IsZero() && !c.until.After(w.now) {
					w.fail("a call waits for a time that has come: it would spin")
				}
			}
		}
	}
	if len(w.calls) == 0 {
		w.cancelReads()
	} else if len(w.under) == 0 && !slices.ContainsFunc(w.calls, func(c *smallCall) bool { return !c.until.IsZero() }) {
		w.fail("I10: a caller waits, and nothing is under way nor a time wanted")
	}
}

func (w *smallWorld) cancelReads() {
	for i := 0; i < len(w.under); i++ {
		if e := w.under[i]; !e.Op.Write() {
			w.under = slices.Delete(w.under, i, i+1)
			i--
			w.done(e, Result{Err: context.Canceled, Cancelled: true})
		}
	}
}

func (w *smallWorld) begin(e Effect) {
	w.checkSent(&e)
	w.under = append(w.under, smallEffect{Effect: e, sent: w.now})
}

// answered goes on with what a call was for.
func (w *smallWorld) answered(c *smallCall, a Answer) {
	claimant := &w.claimants[c.claimant]
	switch {
	case c.kind == ofSweep:
		w.sweeping--
	case c.kind == ofListing:
		w.sweeping--
		w.swept(a)
	case c.kind == ofEdit:
		w.edited(claimant, a)
	default:
		claimant.calling = false
		w.served(claimant, c.Ask.Kind, a)
	}
}

func (w *smallWorld) served(c *smallClaimant, kind event.AskKind, a Answer) {
	switch {
	case kind == AskDelete && claims.KindOf(a.Err) == claims.KindNotFound:
		if w.platform.find(c.handed) != nil {
			w.fail("instance %d of %s is reported as gone", c.handed, c.who.Value)
		}
		c.gone = true
	case kind == AskDelete, a.Err != nil:
		c.again = w.now.Add(smallAgain)
	default:
		w.checkHanded(c, a.Instance)
		c.handed = a.Instance.InstanceID
		if w.bound.edits {
			c.editNext = w.now.Add(time.Second)
		}
	}
}

func (w *smallWorld) edited(c *smallClaimant, a Answer) {
	c.editing = false
	switch {
	case c.gone || c.releasing:
	case a.Err != nil:
		c.editNext = w.now.Add(smallAgain)
	default:
		if c.edits++; c.edits < smallEdits {
			c.editNext = w.now.Add(time.Second)
		}
	}
}

// swept goes on with a sweep after its list.
func (w *smallWorld) swept(a Answer) {
	if a.Err != nil {
		return
	}
	var alive []claims.ClaimID
	for _, c := range w.claimants {
		if c.lives() {
			alive = append(alive, c.who)
		}
	}
	found := w.core.Survey(alive, w.now)
	for _, id := range found.Stripped {
		w.sweeping++
		w.call(Ask{Kind: AskTags, ID: id}, ofSweep, 0)
	}
	for _, orphan := range found.Orphans {
		w.sweeping++
		w.call(Ask{Kind: AskEvict, ID: orphan.InstanceID, Alive: alive}, ofSweep, 0)
	}
}
