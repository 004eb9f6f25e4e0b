package core

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// Core is the state machine. It is for one goroutine.
type Core struct {
	cfg    clusterapi.Config
	memory *memory
	calls  []*call // in the order of arrival
	// epoch distinguishes actions since Begin from earlier actions.
	epoch int
	// begun counts readings that began, reading reports that one is under way.
	begun   int
	reading bool
	began   time.Time
	// busy has the objects with a write under way.
	busy map[string]bool
	// dirty reports that a write ended since the last reading began.
	dirty   bool
	wake    time.Time
	failure error // of the last reading
}

// New returns a core whose process begins to lead.
func New(cfg clusterapi.Config) *Core {
	return &Core{cfg: cfg, memory: newMemory(), busy: map[string]bool{}}
}

// Begin forgets what was read and sent, and keeps the calls.
func (c *Core) Begin() {
	c.memory, c.busy = newMemory(), map[string]bool{}
	c.epoch++
	c.reading, c.dirty, c.wake = false, false, time.Time{}
	for _, call := range c.calls {
		call.after = c.begun
	}
}

// Idle reports that no call waits.
func (c *Core) Idle() bool { return len(c.calls) == 0 }

// Wake returns when the core needs a Tick, zero for never.
func (c *Core) Wake() time.Time { return c.wake }

// Handle takes an event and returns the actions that follow.
func (c *Core) Handle(e Event, now time.Time) []Action {
	var out []Action
	switch e := e.(type) {
	case Arrived:
		c.calls = append(c.calls, &call{token: e.Token, ask: e.Ask, after: c.begun, why: c.failure})
	case Left:
		out = c.left(e)
	case Read:
		if e.Epoch == c.epoch {
			out = c.read(e, now)
		}
	case Written:
		if e.Epoch == c.epoch {
			c.written(e, now)
		}
	}
	return append(out, c.next(now)...)
}

func (c *Core) left(e Left) []Action {
	for _, call := range c.calls {
		if call.token == e.Token {
			return c.answer([]answer{{call, Answer{Err: call.pending(e.Cause)}}})
		}
	}
	return nil
}

// answer ends calls.
func (c *Core) answer(answers []answer) []Action {
	var out []Action
	for _, a := range answers {
		if i := slices.Index(c.calls, a.call); i >= 0 {
			c.calls = slices.Delete(c.calls, i, i+1)
			out = append(out, Action{Op: ActionAnswer, Token: a.call.token, Answer: a.Answer})
		}
	}
	return out
}

func (c *Core) read(e Read, now time.Time) []Action {
	c.reading = false
	if e.Cancelled {
		return nil
	}
	if c.failure = e.Err; e.Err != nil {
		return c.answer(c.unread(e.Err))
	}
	c.memory.observe(c.cfg, &e.World, now)
	d := newDecider(c, e.World, now)
	d.decide()
	out := c.answer(d.answers)
	for _, w := range d.writes {
		c.busy[objectOf(w)] = true
		if w.Op == clusterapi.OpClaim {
			c.memory.attempts[d.claimants[w.UID]] = attempt{w.UID, w.ResourceVersion}
		}
		out = append(out, Action{Op: ActionWrite, Write: w, Epoch: c.epoch})
	}
	return out
}

// unread answers the calls for which a failed reading is final, and notes the reason for the others.
func (c *Core) unread(err error) []answer {
	var final []answer
	for _, call := range c.calls {
		call.why = call.named(err)
		if lasting(err) || call.ask.Kind == KindWorld {
			final = append(final, answer{call, Answer{Err: call.why}})
		}
	}
	return final
}

// lasting reports whether only a user can cure a refusal.
func lasting(err error) bool {
	kind := claims.KindOf(err)
	return kind == claims.KindForbidden || kind == claims.KindInvalid
}

func (c *Core) written(e Written, now time.Time) {
	object := objectOf(e.Write)
	delete(c.busy, object)
	delete(c.memory.refused, object)
	c.dirty = true
	if e.Err != nil && claims.KindOf(e.Err) != claims.KindConflict && claims.KindOf(e.Err) != claims.KindNotFound {
		c.memory.refused[object] = refusal{e.Err, now}
	}
}

// objectOf identifies the object of a write.
func objectOf(w clusterapi.Write) string {
	switch w.Op {
	case clusterapi.OpClaim, clusterapi.OpFence, clusterapi.OpRelease:
		return "Machine " + w.Object
	case clusterapi.OpShrink:
		return "MachineSet " + w.Object
	}
	return "MachineDeployment " + w.Object
}

// next begins a reading if it is due, and otherwise notes when it will be due.
func (c *Core) next(now time.Time) []Action {
	c.wake = time.Time{}
	if c.reading || len(c.calls) == 0 {
		return nil
	}
	pause := c.cfg.ReadInterval
	switch {
	case c.failure != nil:
		pause *= 2
	case slices.ContainsFunc(c.calls, func(call *call) bool { return call.after == c.begun }):
		pause = 0 // a call came after the last reading began
	case c.dirty:
		pause /= 5
	}
	if at := c.began.Add(pause); c.begun > 0 && now.Before(at) {
		c.wake = at
		return nil
	}
	c.begun++
	c.reading, c.dirty, c.began = true, false, now
	return []Action{{Op: ActionRead, Epoch: c.epoch}}
}
