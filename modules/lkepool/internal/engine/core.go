package engine

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// Core is the engine as a state machine: events go in, actions come out. It has
// no goroutine, no clock, no I/O and no context, so that one order of events
// always has one result. It is not safe for concurrent use; see the shell of package
// lkepool.
type Core struct {
	cfg    lkepool.Config
	tags   Tagging
	limits lkepool.Limits
	// startedAt is when this process began to lead.
	startedAt time.Time
	// lateUntil is how long writes of the process before may take effect.
	lateUntil time.Time
	world     world
	// requests are the callers that wait, those of claims apart: see world.claims.
	requests []*request
	// keys are the purchases by key.
	keys map[string]*keyState
	lists
	polls polls
	marks marks
	// buying counts the nodes in the purchases under way by instance type.
	buying map[string]int
	// doubts are the creations that were not answered.
	doubts      []doubt
	lastFailure lastFailure
	turn
}

// turn holds the state of one call of Handle.
type turn struct {
	now     time.Time
	actions []Action
	// wake is when the core has to be called again at the latest.
	wakeAt time.Time
	// reading is how many single instances are being read.
	reading int
}

// keyState is the state of the purchases for one key.
type keyState struct {
	// creating is how many pools are being created.
	creating int
	// began is when the newest purchase was sent.
	began time.Time
	// room bounds the next purchase after a refusal for a limit; 0 is no bound.
	room int
	// notBefore keeps pools from being created while an earlier attempt, whose answer
	// was lost, may still show up.
	notBefore time.Time
	// lost: the last creation was not answered.
	lost  bool
	retry backoff
	// joins are the nodes in a row that did not join.
	joins pacing.Record
}

// marks are the writes of claims to all instances together.
type marks struct {
	// err is why the API refused one as forbidden or invalid, nil if it did not;
	// then one is tried at next, and after pauses that grow.
	err   error
	pause time.Duration
	next  time.Time
	// quarantined counts the instances that were quarantined since one was marked.
	quarantined int
}

// general reports whether it is not a single instance that cannot be marked:
// others would not do better.
func (m marks) general() bool { return m.quarantined >= quarantineLimit }

// lastFailure is the last failure that may end by itself.
type lastFailure struct {
	op  Op
	err error
	at  time.Time
}

// New begins to lead at the given time. cfg has its defaults. clean: no write of a
// process before is under way.
func New(cfg lkepool.Config, limits lkepool.Limits, now time.Time, clean bool) *Core {
	c := &Core{
		cfg: cfg, tags: NewTagging(cfg.Tags), limits: limits, startedAt: now, keys: map[string]*keyState{}, buying: map[string]int{},
		world: world{goneNodes: map[int]ended{}, gonePools: map[int]time.Time{}, index: newIndex()},
	}
	c.polls.pace.Few, c.lateUntil = fewNodes, now
	if !clean {
		c.lateUntil = now.Add(cfg.LateEffect)
	}
	return c
}

// Inherit takes over the callers that wait.
func (c *Core) Inherit(from *Core) {
	for _, claim := range from.world.claims {
		c.world.admit(claim)
	}
	for _, r := range from.requests {
		c.requests = append(c.requests, &request{token: r.token, ask: r.ask, since: c.startedAt})
	}
}

// Failed notes a node of the key that did not join its cluster.
func (c *Core) Failed(key lkepool.Key, now time.Time) { c.key(key).joins.Failed(now, pacing.Joins) }

// Joined notes a node of the key that joined.
func (c *Core) Joined(key lkepool.Key) { c.key(key).joins = pacing.Record{} }

// Owns reports whether a pool was made by this engine, and whether that is known.
func (c *Core) Owns(poolID int) (owned, known bool) {
	if _, gone := c.world.gonePools[poolID]; gone {
		return true, true // only pools of ours are remembered as gone
	}
	p, known := c.world.pools.get(poolID)
	return known && p.ours(), known
}

// PoolOf returns the pool of an instance, 0 if none is known.
func (c *Core) PoolOf(instanceID int) int {
	if n, known := c.world.nodes.get(instanceID); known {
		return n.home
	}
	return 0
}

// Handle applies an event and returns what is to be done.
func (c *Core) Handle(e Event, now time.Time) []Action {
	c.turn = turn{now: now}
	switch e := e.(type) {
	case Asked:
		c.admit(e)
	case Left:
		c.dismiss(e)
	case Done:
		if e.Unsent {
			c.takeBack(e.Action)
			break
		}
		c.note(e)
		c.merge(e)
	case Tick:
	}
	c.decide()
	if c.Idle() {
		c.actions = slices.DeleteFunc(c.actions, c.undone)
		c.wakeAt = time.Time{}
	}
	return c.actions
}

// takeBack follows a write that was not sent: it is decided again.
func (c *Core) takeBack(a Action) {
	switch a.Op {
	case OpCreate, OpScale:
		c.buying[a.Key.InstanceType] = max(0, c.buying[a.Key.InstanceType]-a.Bought)
		if p, ok := c.world.pools.get(a.PoolID); ok {
			p.writes.growing = false
		}
		if a.Op == OpCreate {
			k := c.key(a.Key)
			k.creating = max(0, k.creating-1)
		}
	case OpMark:
		n, ok := c.world.nodes.get(a.InstanceID)
		switch {
		case !ok:
		case !n.claim.since.IsZero():
			n.claim.state = held
		case n.claim.state == rewriting:
			n.claim.state = unsure
		case n.claim.state == writing:
			n.claim = n.claim.freed(c.now)
		}
	default:
		c.undone(a)
	}
}

// undone takes back what would be done for callers that were all answered.
func (c *Core) undone(a Action) bool {
	switch a.Op {
	case OpListPools:
		c.pools.busy = false
	case OpListInstances:
		c.instances.busy = false
	case OpGetPool:
		if p, ok := c.world.pools.get(a.PoolID); ok {
			p.direct.busy = false
		}
		if p, ok := c.world.named.get(a.PoolID); ok {
			p.direct.busy = false
		}
	case OpGetInstance:
		if n, ok := c.world.nodes.get(a.InstanceID); ok {
			n.direct.busy = false
		}
	case OpRemove:
		if n, ok := c.world.nodes.get(a.InstanceID); ok {
			n.removal.busy = false
		}
		if p, ok := c.world.pools.get(a.PoolID); ok {
			p.writes.removing--
		}
	case OpDrop:
		if n, ok := c.world.nodes.get(a.InstanceID); ok {
			n.removal.busy = false
		}
		if p, ok := c.world.pools.get(a.PoolID); ok {
			p.writes.dropping = false
		}
	case OpMark:
		n, ok := c.world.nodes.get(a.InstanceID)
		if !ok || n.claim.since.IsZero() {
			return false
		}
		n.claim.state = held
	default:
		return false
	}
	return true
}

// Wake returns when Handle needs a tick at the latest, the zero time for never.
func (c *Core) Wake() time.Time { return c.wakeAt }

// Idle reports whether no caller waits.
func (c *Core) Idle() bool {
	if len(c.requests) > 0 {
		return false
	}
	for _, claim := range c.world.claims {
		if len(claim.tokens) > 0 {
			return false
		}
	}
	return true
}

// at schedules a tick at the given time.
func (c *Core) at(t time.Time) {
	if t.After(c.now) && (c.wakeAt.IsZero() || t.Before(c.wakeAt)) {
		c.wakeAt = t
	}
}

// ready reports whether a time has come, and otherwise schedules a tick at it.
func (c *Core) ready(t time.Time) bool {
	if c.now.Before(t) {
		c.at(t)
		return false
	}
	return true
}

func (c *Core) do(a Action) {
	switch a.Op {
	case OpScale, OpDrop:
		a.NotAfter = c.now.Add(countValid)
	case OpCreate, OpRemove:
		a.NotAfter = c.now.Add(sendWithin)
	case OpMark:
		a.NotAfter = c.now.Add(claimWithin)
	}
	c.actions = append(c.actions, a)
}

func (c *Core) answer(token int, a Answer) { c.do(Action{Op: OpAnswer, Token: token, Answer: &a}) }

func (c *Core) key(key lkepool.Key) *keyState { return c.keyed(key.Hash()) }

// keyed is key for a hash that is known: to compute one costs more than all else
// that an event needs.
func (c *Core) keyed(hash string) *keyState {
	k, ok := c.keys[hash]
	if !ok {
		k = &keyState{}
		c.keys[hash] = k
	}
	return k
}

// note remembers failures that may end by themselves, for callers whose time
// ends meanwhile.
func (c *Core) note(d Done) {
	if d.Cancelled {
		return
	}
	switch kind := claims.KindOf(d.Err); {
	case kind == claims.KindRateLimited || kind == claims.KindUnavailable:
		c.lastFailure = lastFailure{op: d.Action.Op, err: d.Err, at: c.now}
	case c.lastFailure.op == d.Action.Op:
		c.lastFailure = lastFailure{}
	}
}
