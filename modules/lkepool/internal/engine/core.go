package engine

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/decide"
)

// Core is the engine as a state machine: events go in, actions come out. It has
// no goroutine, no clock, no I/O and no context, so that one order of events
// always has one result. It is not safe for concurrent use; see the shell of package
// allocator.
type Core struct {
	belief  *belief.Belief
	callers *callers.Callers
	decider *decide.Decider
	wake    time.Time
	began   time.Time
}

// New begins to lead at the given time. cfg has its defaults. clean: no write of a
// process before is under way.
func New(cfg lkepool.Config, limits lkepool.Limits, now time.Time, clean bool) *Core {
	c := &Core{belief: belief.New(cfg, limits, now, clean), callers: callers.New(NewTagging(cfg.Tags)), began: now}
	c.decider = decide.New(cfg, limits, c.belief, c.callers)
	return c
}

// Handle applies an event and returns the actions.
func (c *Core) Handle(e Event, now time.Time) []Action {
	c.belief.At(now)
	var answers []Action
	var news belief.News
	switch e := e.(type) {
	case Asked:
		answers = c.callers.Admit(e, now)
	case Left:
		var left *callers.Claim
		if answers, left = c.callers.Dismiss(e, c.belief.Trouble(c.callers.Keys()), now); left != nil {
			c.belief.Unreserve(left.ID)
		}
	case Done:
		if e.Unsent {
			c.belief.Unsent(e.Action)
			break
		}
		news = c.belief.Merge(e)
		if news.Listed {
			c.belief.Forget(c.callers.Keys())
		}
	case Tick:
	}
	var actions []Action
	actions, c.wake = c.decider.Decide(now, answers, news)
	return actions
}

// Wake returns when Handle needs a tick at the latest, the zero time for never.
func (c *Core) Wake() time.Time { return c.wake }

// Idle reports whether no caller waits.
func (c *Core) Idle() bool { return c.callers.Idle() }

// Inherit takes over the callers that wait.
func (c *Core) Inherit(from *Core) { c.callers.Inherit(from.callers, c.began) }

// Failed notes a node of the key that did not join its cluster.
func (c *Core) Failed(key lkepool.Key, now time.Time) { c.belief.Failed(key, now) }

// Joined notes a node of the key that joined.
func (c *Core) Joined(key lkepool.Key) { c.belief.Joined(key) }

// Owns reports whether a pool was made by this engine, and whether that is known.
func (c *Core) Owns(poolID int) (owned, known bool) { return c.belief.Owns(poolID) }

// PoolOf returns the pool of an instance, 0 if none is known.
func (c *Core) PoolOf(instanceID int) int { return c.belief.PoolOf(instanceID) }
