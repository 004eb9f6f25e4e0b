package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Take lets a move happen.
func (w *smallWorld) Take(m fate.Move) {
	c := &w.claimants[m.Claimant]
	switch m.Kind {
	case fate.Waits:
		w.wait()
	case moveComes:
		c.came = true
		w.create(m.Claimant)
	case moveReleases:
		c.releasing = true
		w.release(m.Claimant)
	case moveQuits:
		w.quit(c)
	case fate.Crashes, fate.Ends:
		w.takeOver(m.Kind == fate.Ends)
	default:
		w.requests.Take(w, m, w.now)
	}
	w.pump()
	w.settle()
}

// Text describes a move.
func (w *smallWorld) Text(m fate.Move) string {
	at := fmt.Sprintf("%8.2f ", w.now.Sub(smallEpoch).Seconds())
	switch m.Kind {
	case fate.Waits, fate.Crashes, fate.Ends:
		return at + m.Kind.String()
	case moveComes, moveReleases, moveQuits:
		does := map[fate.Kind]string{moveComes: " comes", moveReleases: " releases", moveQuits: " quits"}
		return at + w.claimants[m.Claimant].who.UID + does[m.Kind]
	case fate.LandsLate:
		return at + describe(&w.requests.Late[m.Request].Action) + " " + m.Kind.String()
	}
	r := &w.requests.Under[m.Request]
	text := at + describe(&r.Action) + " " + m.Kind.String()
	if m.Kind == fate.Shows {
		text += fmt.Sprintf(" %q", w.Shown(r)[m.View])
	}
	return text
}

func describe(e *Effect) string {
	return fmt.Sprintf("%s %d %s %s %v (%s)", e.Op, e.ID, e.Who.Value, e.Disk, e.Tags, e.Reason)
}

// Shown returns what stands for each view of a read.
func (w *smallWorld) Shown(r *smallRequest) (texts []string) {
	for _, view := range w.views(r) {
		texts = append(texts, view.State.text(&r.Action))
	}
	return texts
}

// Show answers a read.
func (w *smallWorld) Show(r *smallRequest, view int) Result {
	return w.views(r)[view].State.read(r.Action)
}

// Land lets a write take effect.
func (w *smallWorld) Land(r *smallRequest) Result {
	if r.Action.Op == OpDelete {
		w.checkRemoval(r)
	}
	answer := w.platform.write(r.Action, w.now)
	w.checkPlatform()
	return answer
}

// Refuse returns the end of an action with an error.
func (w *smallWorld) Refuse(e Effect, kind claims.Kind, effect claims.Effect) Result {
	return Result{Err: smallError(e.Op, kind, effect)}
}

// Done gives the core the result of a request.
func (w *smallWorld) Done(r smallRequest, result Result) {
	result.Effect, result.Began = r.Action, r.Sent
	w.core.Handle(result, w.now)
}

// wait lets time pass until something is due, and due events happen.
func (w *smallWorld) wait() {
	w.now = w.next()
	if w.now.Sub(smallEpoch) > smallHorizon {
		w.fail("I10: not at rest after %s: %s", smallHorizon, w.disorder())
		return
	}
	w.platform.elapse(w.now)
	w.platform.shown.Forget(w.now.Add(-w.settings.ListLag - tuning.ReadTimeout))
	w.requests.Elapse(w, w.now)
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

// takeOver lets another process lead, at once.
func (w *smallWorld) takeOver(clean bool) {
	w.requests.TakeOver(w, w.now)
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

// smallTag is the first claimant's only own tag on its instance after this number of edits.
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
		w.requests.CancelReads(w, Result{Err: context.Canceled, Cancelled: true})
	} else if len(w.requests.Under) == 0 && !slices.ContainsFunc(w.calls, func(c *smallCall) bool { return !c.until.IsZero() }) {
		w.fail("I10: a caller waits, and nothing is under way nor a time wanted")
	}
}

func (w *smallWorld) begin(e Effect) {
	w.checkSent(&e)
	w.requests.Under = append(w.requests.Under, smallRequest{
		Action: e, Write: e.Op.Write(), Single: !e.Op.Write() && e.ID != 0, Spared: w.bound.by != nil && !slices.Contains(w.bound.by, e.Op),
		Sent: w.now, Expires: w.now.Add(Timeout(e.Op)),
	})
}

// answered goes on with what a call was for.
func (w *smallWorld) answered(c *smallCall, a Answer) {
	claimant := &w.claimants[c.claimant]
	switch c.kind {
	case ofSweep:
		w.sweeping--
	case ofListing:
		w.sweeping--
		w.swept(a)
	case ofEdit:
		w.edited(claimant, a)
	default:
		claimant.calling = false
		w.served(claimant, c.Ask().Kind, a)
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
