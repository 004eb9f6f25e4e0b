// Package core is the claim engine of package lkepool as a state machine, without goroutine, clock, lock, I/O or context: [Core.Handle]
// takes an [Event] and the time, and returns [Action]s. One order of events always has one result, so that a test can replay it.
//
// # Where things are
//
//	event      what goes in and what comes out
//	known      the record of the platform, and the only code that changes it
//	callers    the callers that wait: admitted, answered, dismissed
//	decide     what to do: a function of views of both, which changes neither
//	tagging    the tags of pools and claims
//	pace       how long to pause between two looks for nodes on their way
//	tuning     every constant, with its reason
//
// Each package's doc states what it may read and write, and the tests of package lkepool check that. The rule for readings is in package
// record of module claims, which module instances uses, too.
//
// # One request's way
//
// From Claim to the request that buys: Allocator.Claim, shell.call, Core.Handle, Callers.Admit, decide.Decide, turn.supply, turn.buy,
// turn.grow, shell.perform, which calls Backend.Scale or Backend.Create. To the request that writes the claim: turn.match, turn.finish
// and turn.mark instead of turn.buy and turn.grow.
//
// # Words
//
//	missing    a read of the object was answered 404, and no newer answer shows it
//	aside      a write may still take effect: the engine neither changes the object nor hands it out
//	removing   a removal was sent, or the tags announce one: the engine never uses the object again
//	gone       it is proven that the object does not exist
//
// A direct read is a read of a single object. A reading is any answer that shows an object. A write has settled when SettleTime has
// passed since its answer: direct reads that begin later show it.
package core

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/decide"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tagging"
)

// Core is the engine as a state machine: events go in, actions come out. It has no goroutine, no clock, no I/O and no context, so that one
// order of events always has one result. It is not safe for concurrent use.
type Core struct {
	cfg     lkepool.Config
	limits  lkepool.Limits
	known   *known.Known
	callers *callers.Callers
	wake    time.Time
	began   time.Time
}

// New begins to lead at the given time. cfg has its defaults. clean: no write of an earlier process may take effect.
func New(cfg lkepool.Config, limits lkepool.Limits, now time.Time, clean bool) *Core {
	return &Core{cfg: cfg, limits: limits, known: known.New(cfg, limits, now, clean), callers: callers.New(tagging.New(cfg.Tags)), began: now}
}

// Handle applies an event and returns the actions.
func (c *Core) Handle(e event.Event, now time.Time) []event.Action {
	c.known.At(now)
	var actions []event.Action
	var news known.News
	switch e := e.(type) {
	case event.Asked:
		actions = c.callers.Admit(e, now)
	case event.Left:
		actions = c.callers.Dismiss(e, c.known.Trouble(c.callers.Keys()), now)
	case event.Done:
		news = c.known.Merge(e)
	case event.Tick:
	}
	c.wake = time.Time{}
	if c.callers.Idle() {
		return actions
	}
	for r := range c.callers.View().Requests() {
		if id := r.Ask().ID; id != 0 {
			c.known.Meet(id) // a list may have caused the record to be forgotten
		}
	}
	chosen := decide.Decide(c.cfg, c.limits, c.known.View(), c.callers.View(), news)
	for _, r := range chosen.Replies {
		switch {
		case r.Claimant.None():
			actions = append(actions, c.callers.Reply(r.Token, r.Answer)...)
		default:
			c.known.Give(r.Answer.Node.InstanceID)
			actions = append(actions, c.callers.Deliver(r.Claimant, r.Answer, now)...)
		}
	}
	c.callers.Forget(now.Add(-c.cfg.OrphanTTL))
	if c.callers.Idle() {
		return actions
	}
	c.wake = chosen.Wake
	for _, a := range chosen.Actions {
		c.known.Start(a)
	}
	return append(actions, chosen.Actions...)
}

// Wake returns when Handle needs a tick at the latest, the zero time for never.
func (c *Core) Wake() time.Time { return c.wake }

// Idle reports whether no caller waits.
func (c *Core) Idle() bool { return c.callers.Idle() }

// Inherit takes over the callers that wait.
func (c *Core) Inherit(from *Core) { c.callers.Inherit(from.callers, c.began) }

// Failed notes a node of the key that did not join its cluster.
func (c *Core) Failed(key lkepool.Key, now time.Time) { c.known.Failed(key, now) }

// Joined notes a node of the key that joined.
func (c *Core) Joined(key lkepool.Key) { c.known.Joined(key) }

// Owns reports whether a pool was made by this engine, and whether that is known.
func (c *Core) Owns(poolID int) (owned, known bool) { return c.known.View().Owns(poolID) }

// PoolOf returns the pool of an instance, 0 if none is known.
func (c *Core) PoolOf(instanceID int) int { return c.known.View().PoolOf(instanceID) }
