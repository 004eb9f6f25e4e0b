package engine_test

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Take lets a move happen.
func (w *smallWorld) Take(m fate.Move) {
	switch m.Kind {
	case fate.Waits:
		w.wait()
	case moveComes:
		w.come(m.Claimant)
	case moveReleases:
		w.claimants[m.Claimant].releasing = true
		w.release(m.Claimant)
	case fate.Crashes, fate.Ends:
		w.takeOver(m.Kind == fate.Ends)
	default:
		w.requests.Take(w, m, w.now)
	}
	w.settle()
}

// Shown returns what stands for each view of a read.
func (w *smallWorld) Shown(r *smallRequest) (texts []string) {
	for _, view := range w.views(r) {
		texts = append(texts, view.State.textOf(r.Action))
	}
	return texts
}

// Show answers a read.
func (w *smallWorld) Show(r *smallRequest, view int) engine.Done {
	return w.views(r)[view].State.read(r.Action)
}

// Land lets a write take effect.
func (w *smallWorld) Land(r *smallRequest) engine.Done {
	w.checkWrite(r.Action)
	d := w.platform.write(r.Action, w.now, w.bound.arrives)
	w.checkBought()
	return d
}

// Refuse returns the end of an action with an error. A purchase whose effect is not known
// may be repeated.
func (w *smallWorld) Refuse(a engine.Action, kind claims.Kind, effect claims.Effect) engine.Done {
	if effect == claims.EffectUnknown {
		w.excused += a.Bought
	}
	return engine.Done{Err: smallError(a, kind, effect)}
}

// Done gives the core the result of a request.
func (w *smallWorld) Done(r smallRequest, d engine.Done) {
	d.Action, d.Began = r.Action, r.Sent
	w.feed(d)
}

// wait lets time pass until something is due, and lets that happen.
func (w *smallWorld) wait() {
	w.now = latest(w.now, w.next())
	if w.now.Sub(smallEpoch) > smallHorizon {
		w.fail("I10: not at rest after %s: %s", smallHorizon, w.disorder())
		return
	}
	w.platform.elapse(w.now)
	w.platform.shown.Forget(w.now.Add(-w.bound.cfg.ListLag - tuning.ReadTimeout))
	w.requests.Elapse(w, w.now)
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
		w.requests.CancelReads(w, engine.Done{Err: context.Canceled, Cancelled: true})
	} else if w.core.Wake().IsZero() && len(w.requests.Under) == 0 {
		w.fail("I10: a caller waits, and nothing is under way nor a tick wanted")
	}
}

func (w *smallWorld) begin(a engine.Action) {
	if a.Op == engine.OpScale {
		w.checkSent(a)
	}
	lasts := tuning.ReadTimeout
	if a.Op.Write() {
		lasts = tuning.WriteTimeout
	}
	w.requests.Under = append(w.requests.Under, smallRequest{
		Action: a, Write: a.Op.Write(), Single: a.Op == engine.OpGetInstance || a.Op == engine.OpGetPool,
		Spared: w.bound.by != nil && !slices.Contains(w.bound.by, a.Op), Sent: w.now, Expires: w.now.Add(lasts),
	})
}

// takeOver lets another process lead, at once.
func (w *smallWorld) takeOver(clean bool) {
	w.requests.TakeOver(w, w.now)
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
