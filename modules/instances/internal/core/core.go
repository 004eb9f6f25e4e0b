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

// Core is the engine as a state machine: calls and results go in, steps come out. It has
// no goroutine, no clock, no I/O and no context, so that one order of events always has
// one result. It is not safe for concurrent use.
type Core struct {
	known   *known.Known
	callers *callers.Callers
	decider *decide.Decider
}

// New begins to lead at the given time, after a process that claims.MayStillWrite.
// settings have their defaults.
func New(settings tuning.Settings, tags tagging.Tags, now time.Time) *Core {
	c := &Core{known: known.New(settings, tags, now), callers: callers.New()}
	c.decider = decide.New(c.known, c.callers)
	return c
}

// Begin drops everything that was read, and keeps callers and requests under way.
func (c *Core) Begin(after claims.Predecessor, now time.Time) {
	c.known.At(now)
	c.known.Begin(after)
}

// Admit begins a call. Next is called after each change until it returns the answer, and
// Leave if the caller's context ends before that; then Dismiss, once.
func (c *Core) Admit(ask event.Ask, now time.Time) *callers.Call {
	c.known.At(now)
	call := c.callers.Admit(ask, now, c.known.Next())
	if order := ask.Order; order != nil {
		c.known.Purchases.Of(order.Who, order.Label)
	}
	return call
}

// Next returns the next step of a call. An effect that it returns is to be carried out.
func (c *Core) Next(call *callers.Call, now time.Time) event.Step {
	c.known.At(now)
	return c.decider.Next(call)
}

// Leave returns the answer of a call whose context ended.
func (c *Core) Leave(call *callers.Call, cause error, now time.Time) event.Answer {
	c.known.At(now)
	return c.decider.Leave(call, cause)
}

// Dismiss ends a call.
func (c *Core) Dismiss(call *callers.Call, now time.Time) {
	c.known.At(now)
	c.callers.Dismiss(call, now)
	if call.Who != nil {
		c.forget(call.Who.ID)
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

// Survey returns what a sweep has to deal with when these claimants exist.
func (c *Core) Survey(alive []claims.ClaimID, now time.Time) decide.Survey {
	c.known.At(now)
	return c.decider.Survey(alive)
}

// forget drops the records of a claimant that no caller waits for.
func (c *Core) forget(who claims.ClaimID) {
	if !c.callers.Needs(who) && c.known.Forget(who) {
		c.callers.Forget(who)
	}
}

// prune drops the claimants that did not come back.
func (c *Core) prune() {
	c.callers.Expire(c.known.Now)
	for _, p := range c.known.Purchases.All() {
		if c.callers.Away(p.Who, c.known.Now) {
			c.known.Expire(p.Who)
		}
		c.forget(p.Who)
	}
}
