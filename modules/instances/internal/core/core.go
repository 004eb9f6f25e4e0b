package core

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/decide"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Core is the engine as a state machine: calls and results go in, steps come out. It has no goroutine, no clock, no I/O and no context,
// so that one order of events always has one result. It is not safe for concurrent use.
type Core struct {
	known   *known.Known
	callers *callers.Callers
}

// New begins to lead at the given time, after a process that claims.MayStillWrite. settings have their defaults.
func New(settings tuning.Settings, tags tagging.Tags, now time.Time) *Core {
	return &Core{known: known.New(settings, tags, now), callers: callers.New()}
}

// Begin drops everything that was read, and keeps callers and requests under way.
func (c *Core) Begin(after claims.Predecessor, now time.Time) {
	c.known.At(now)
	c.known.Begin(after)
}

// Admit begins a call. The shell calls Next after each change until Next returns the answer. If the caller's context ends before that, it
// calls Leave. Then it calls Dismiss, once.
func (c *Core) Admit(ask event.Ask, now time.Time) *callers.Call {
	c.known.At(now)
	call := c.callers.Admit(ask, now, c.known.Next())
	if order := ask.Order; order != nil {
		c.known.Order(order.Who, order.Label)
	}
	return call
}

// mostTurns bounds the decisions of one step: a decision that has only notes leads to another decision.
const mostTurns = 8

// Next returns the next step of a call. An effect that it returns is to be carried out.
func (c *Core) Next(call *callers.Call, now time.Time) event.Step {
	c.known.At(now)
	for range mostTurns {
		chosen := decide.Next(c.known.View(), c.callers.View(), call)
		c.known.Apply(chosen.Known)
		c.callers.Apply(chosen.Callers)
		if e := chosen.Effect; e != nil {
			c.known.Start(e)
			if e.Op == event.OpCreate {
				c.callers.Expire(now)
			}
		}
		if !chosen.None() {
			return chosen.Step
		}
	}
	return event.Wait(now.Add(tuning.FirstPoll))
}

// Leave returns the answer of a call whose context ended.
func (c *Core) Leave(call *callers.Call, cause error, now time.Time) event.Answer {
	c.known.At(now)
	c.callers.Expire(now)
	return decide.Leave(c.known.View(), c.callers.View(), call, cause)
}

// Dismiss ends a call.
func (c *Core) Dismiss(call *callers.Call, now time.Time) {
	c.known.At(now)
	c.callers.Dismiss(call, now)
	if who := call.Who(); who != nil {
		c.forget(who.Claimant())
	}
}

// Handle applies the result of an effect.
func (c *Core) Handle(r event.Result, now time.Time) {
	c.known.At(now)
	news := c.known.Merge(&r)
	if news.Leaves {
		c.callers.Leave(news.Who)
	}
	if !news.Who.None() {
		c.forget(news.Who)
	}
	if c.known.Prune() {
		c.prune()
	}
}

// Survey returns the findings of a sweep. alive are the claimants that exist.
func (c *Core) Survey(alive []claims.ClaimID, now time.Time) decide.Survey {
	c.known.At(now)
	found, unneeded := decide.Sweep(c.known.View(), c.callers.View(), alive)
	c.known.Survey(unneeded)
	return found
}

// forget drops the records of a claimant that no caller waits for.
func (c *Core) forget(who claims.ClaimID) {
	if !c.callers.Needs(who) && c.known.Forget(who) {
		c.callers.Forget(who)
	}
}

// prune drops the claimants that did not come back.
func (c *Core) prune() {
	now := c.known.View().Now()
	c.callers.Expire(now)
	for _, who := range c.known.Claimants() {
		if c.callers.Away(who, now) {
			c.known.Expire(who)
		}
		c.forget(who)
	}
}
