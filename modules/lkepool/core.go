package lkepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// core is the engine as a state machine: events go in, actions come out. It has
// no goroutine, no clock, no I/O and no context, so that one order of events
// always has one result. It is not safe for concurrent use; see shell.go.
type core struct {
	cfg    Config
	limits Limits
	// startedAt is when this process began to lead.
	startedAt time.Time
	world     world
	// requests are the callers that wait, those of claims apart: see world.claims.
	requests []*request
	// keys are the purchases by key.
	keys map[string]*keyState
	lists
	polls polls
	marks marks
	// buying is how many nodes of each instance type the purchases under way ask for.
	buying  map[string]int
	trouble trouble
	turn
}

// turn is what one call of handle works with.
type turn struct {
	now     time.Time
	actions []action
	// wake is when the core wants to be called again at the latest.
	wakeAt time.Time
	// looks is how many single instances are being read.
	looks int
}

// lists are the two that there are.
type lists struct{ pools, instances list }

// list is the state of a list of pools or of instances.
type list struct {
	// began is when the newest answered one did, tried the newest of all.
	began, tried time.Time
	busy         bool
	retry        backoff
	err          error
}

// polls are the reads for nodes that are on their way, for all keys together.
type polls struct {
	running  bool
	at, next time.Time
	// pools are read one by one; none means that a list is read.
	pools []*pool
	// again is when the first full reading of this leadership was found to lack
	// instances, so that another one is made.
	again time.Time
	pace  plan.Pace
}

// cancelled reports whether a read was given up because no caller was left.
func cancelled(d done) bool { return !d.action.op.write() && errors.Is(d.err, context.Canceled) }

// keyState is the state of the purchases for one key.
type keyState struct {
	// creating is how many pools are being created.
	creating int
	// began is when the newest purchase was sent.
	began time.Time
	// room bounds the next purchase after a refusal for a limit; 0 is no bound.
	room int
	// hold keeps pools from being created while an earlier attempt, whose answer
	// was lost, may still show up.
	hold time.Time
	// lost: the last creation was not answered.
	lost  bool
	retry backoff
	// failed counts nodes in a row that did not join, since the last of them.
	failed int
	since  time.Time
}

// marks are the writes of claims to all instances together.
type marks struct {
	// err is why the API refused one as forbidden or invalid, nil if it did not;
	// then one is tried at next, and after pauses that grow.
	err   error
	pause time.Duration
	next  time.Time
	// aside counts the instances that were put aside since one was marked.
	aside int
}

// general reports whether it is not a single instance that cannot be marked:
// others would not do better.
func (m marks) general() bool { return m.aside >= asideLimit }

// trouble is the last failure that may end by itself.
type trouble struct {
	op  op
	err error
	at  time.Time
}

// newCore begins to lead at the given time. cfg has its defaults.
func newCore(cfg Config, limits Limits, now time.Time) *core {
	c := &core{
		cfg: cfg, limits: limits, startedAt: now, keys: map[string]*keyState{}, buying: map[string]int{},
		world: world{goneNodes: map[int]time.Time{}, gonePools: map[int]time.Time{}},
	}
	c.polls.pace = plan.Pace{Dense: !limits.NodesLag, Few: fewNodes, Near: nearLook}
	if limits.NodesLag {
		c.polls.pace.Near = nearList
	}
	return c
}

// inherit takes over the callers that wait.
func (c *core) inherit(from *core) {
	c.world.claims = from.world.claims
	for _, r := range from.requests {
		c.requests = append(c.requests, &request{token: r.token, ask: r.ask, since: c.startedAt})
	}
}

// fail notes a node that did not join.
func (k *keyState) fail(now time.Time) { k.failed, k.since = k.failed+1, now }

// handle applies an event and returns what is to be done.
func (c *core) handle(e event, now time.Time) []action {
	c.now, c.actions, c.wakeAt = now, nil, time.Time{}
	switch e := e.(type) {
	case asked:
		c.admit(e)
	case left:
		c.dismiss(e)
	case done:
		c.note(e)
		c.merge(e)
	case tick:
	}
	c.decide()
	if c.idle() {
		c.actions = slices.DeleteFunc(c.actions, c.undone)
		c.wakeAt = time.Time{}
	}
	return c.actions
}

// undone takes back what would be done for callers that were all answered.
func (c *core) undone(a action) bool {
	switch a.op {
	case opListPools:
		c.pools.busy = false
	case opListInstances:
		c.instances.busy = false
	case opGetPool:
		if p, ok := c.world.pools.get(a.poolID); ok {
			p.look.busy = false
		}
	case opGetInstance:
		if n, ok := c.world.nodes.get(a.instanceID); ok {
			n.look.busy = false
		}
	case opMark:
		n, ok := c.world.nodes.get(a.instanceID)
		if !ok || n.hold.since.IsZero() {
			return false
		}
		n.hold.state = held
	default:
		return false
	}
	return true
}

// wake returns when handle wants a tick at the latest, the zero time for never.
func (c *core) wake() time.Time { return c.wakeAt }

// idle reports whether no caller waits.
func (c *core) idle() bool {
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

// at asks for a tick at the given time.
func (c *core) at(t time.Time) {
	if t.After(c.now) && (c.wakeAt.IsZero() || t.Before(c.wakeAt)) {
		c.wakeAt = t
	}
}

// ready reports whether a time has come, and otherwise asks for a tick at it.
func (c *core) ready(t time.Time) bool {
	if c.now.Before(t) {
		c.at(t)
		return false
	}
	return true
}

func (c *core) do(a action) { c.actions = append(c.actions, a) }

func (c *core) answer(token int, a answer) { c.do(action{op: opAnswer, token: token, answer: a}) }

func (c *core) key(key Key) *keyState {
	hash := key.Hash()
	k, ok := c.keys[hash]
	if !ok {
		k = &keyState{}
		c.keys[hash] = k
	}
	return k
}

// note remembers failures that may end by themselves, for callers whose time
// ends meanwhile.
func (c *core) note(d done) {
	if cancelled(d) {
		return
	}
	switch kind := KindOf(d.err); {
	case kind == KindRateLimited || kind == KindUnavailable:
		c.trouble = trouble{op: d.action.op, err: d.err, at: c.now}
	case c.trouble.op == d.action.op:
		c.trouble = trouble{}
	}
}

// end notes the end of a list, and reports whether it was answered.
func (l *list) end(d done, first time.Duration, now time.Time) bool {
	l.busy = false
	if cancelled(d) {
		return false
	}
	if l.err = d.err; d.err != nil {
		l.retry.fail(now, first, retryAfter(d.err))
		return false
	}
	l.began, l.retry = latest(l.began, d.began), backoff{}
	return true
}

// fresh reports whether a list that began at or after since was answered, and
// otherwise reads it.
func (c *core) fresh(l *list, op op, since time.Time, reason string) bool {
	if !l.began.IsZero() && !l.began.Before(since) {
		return true
	}
	if !l.busy && c.ready(l.retry.until) {
		l.busy, l.tried = true, c.now
		c.do(action{op: op, reason: reason})
	}
	return false
}

// surveyed reports whether both lists were read since then.
func (c *core) surveyed(since time.Time, reason string) bool {
	pools := c.fresh(&c.pools, opListPools, since, reason)
	return c.fresh(&c.instances, opListInstances, since, reason) && pools
}

// settling reports whether writes of an earlier process may still be invisible.
func (c *core) settling() bool { return !c.ready(c.startedAt.Add(c.cfg.SettleTime)) }

// lookAtNode reads an instance directly unless one is under way or has to wait.
func (c *core) lookAtNode(n *node, reason string) {
	if n.look.busy || c.looks >= parallelLooks || !c.ready(n.look.retry.until) {
		return
	}
	n.look.busy, n.look.tried = true, c.now
	c.looks++
	c.do(action{op: opGetInstance, instanceID: n.ID, reason: reason})
}

func (c *core) lookAtPool(p *pool, reason string) {
	if p.look.busy || !c.ready(p.look.retry.until) {
		return
	}
	p.look.busy, p.look.tried = true, c.now
	c.do(action{op: opGetPool, poolID: p.ID, reason: reason})
}

// seenLately reports whether the last direct read is still "right before".
func (c *core) seenLately(l look) bool {
	return l.agrees && !l.ended.IsZero() && c.now.Sub(l.ended) <= lookValid
}

// silence returns an error about the oldest request that has had no answer for
// long, nil if there is none.
func (c *core) silence() error {
	var oldest time.Time
	what := op("")
	consider := func(busy bool, since time.Time, op op) {
		if busy && c.now.Sub(since) >= silentAfter && (what == "" || since.Before(oldest)) {
			oldest, what = since, op
		}
	}
	consider(c.pools.busy, c.pools.tried, opListPools)
	consider(c.instances.busy, c.instances.tried, opListInstances)
	for _, claim := range c.world.claims {
		k := c.key(claim.request.Key)
		consider(k.creating > 0, k.began, opCreate)
	}
	for _, p := range c.world.pools.rows {
		consider(p.look.busy, p.look.tried, opGetPool)
		consider(p.writes.growing, p.writes.began, opScale)
	}
	for _, n := range c.world.nodes.rows {
		consider(n.look.busy, n.look.tried, opGetInstance)
		consider(n.hold.state == writing, n.hold.at, opMark)
	}
	if what == "" {
		return nil
	}
	return &Error{Kind: KindUnavailable, Op: string(what), Err: fmt.Errorf("no answer for %s", c.now.Sub(oldest))}
}
