package instances

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// op names a request to the platform.
type op string

const (
	opList    op = "list instances"
	opFind    op = "find label"
	opRead    op = "read instance"
	opDisks   op = "list disks"
	opDisk    op = "read disk"
	opConfigs op = "list configurations"
	opCreate  op = "create instance"
	opDelete  op = "delete instance"
	opTag     op = "tag instance"
	opAddDisk op = "add disk"
	opAttach  op = "attach disks"
	opBoot    op = "boot instance"
)

// Actions returns the values of ActionEnd.Op.
func Actions() []string {
	var all []string
	for _, o := range []op{opList, opFind, opRead, opDisks, opDisk, opConfigs, opCreate, opDelete, opTag, opAddDisk, opAttach, opBoot} {
		all = append(all, string(o))
	}
	return all
}

func (o op) write() bool {
	switch o {
	case opCreate, opDelete, opTag, opAddDisk, opAttach, opBoot:
		return true
	}
	return false
}

// ofParts reports whether the request reads an instance's disks or configurations.
func (o op) ofParts() bool { return o == opDisks || o == opDisk || o == opConfigs }

func (o op) timeout() time.Duration {
	switch {
	case o == opCreate:
		return createTimeout
	case o.write():
		return writeTimeout
	}
	return readTimeout
}

// sendWithin is the time for which the decision for a write is valid.
func (o op) sendWithin() time.Duration {
	if o == opCreate {
		return createWithin
	}
	return sendWithin
}

// effect describes a request to be made.
type effect struct {
	op     op
	reason string
	term   int // counts Begin calls before it
	// notAfter is until when a write may be sent, because it rests on what was read
	// shortly before.
	notAfter time.Time

	claim    *claimState // opFind, opCreate
	id       int         // the instance, of all others but opList
	text     string      // opList: the tag; opFind: the label
	creation Creation
	tags     []string
	disk     Disk // opAddDisk
	diskID   int  // opDisk
	config   int
	devices  map[string]int
}

// result describes an effect that ended.
type result struct {
	effect
	began time.Time
	err   error
	// cancelled: the reading ended with its callers, and shows nothing. unsent: the
	// write waited for longer than it may be sent.
	cancelled, unsent bool
	instance          Instance
	instances         []Instance
	disks             []DiskState // opDisk, opAddDisk: that one
	configs           []ConfigState
}

// answer contains what a call returns.
type answer struct {
	instance  Instance
	instances []Instance
	err       error
}

// step represents how a task continues: with an effect, with its answer, or with
// another call of next after a change, at the latest at a time. Exactly one is set.
type step struct {
	effect *effect
	end    *answer
	wait   bool
	until  time.Time // of a wait; zero: when something has changed
}

func end(a answer) step     { return step{end: &a} }
func refuse(err error) step { return step{end: &answer{err: err}} }

// wait returns a step that waits for a change or a time.
func wait(until time.Time) step { return step{wait: true, until: until} }

func (c *core) do(e effect) step {
	e.term = c.term
	if e.op.write() {
		e.notAfter = c.now.Add(e.op.sendWithin())
	}
	if e.id != 0 && e.op != opRead {
		c.busy[e.id] = true
	}
	return step{effect: &e}
}

// none reports whether the task can go on without a step.
func (s step) none() bool { return s.effect == nil && s.end == nil && !s.wait }

// fail returns the error of a call about an instance, 0 for none, that had no effect.
func fail(kind claims.Kind, op string, id int, format string, args ...any) *claims.Error {
	return claims.Errorf(kind, op, claims.Object("instance", id), format, args...)
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// task represents one call of a Manager.
type task interface {
	// begin is called once and first, next after each change until it returns an
	// answer, and leave if the caller's context ends before that.
	begin(c *core)
	next(c *core) step
	leave(c *core, cause error) answer
	// ended is called once, after the answer or leave.
	ended(c *core)
}

// core holds the state of the engine and its time. The lock of the shell guards it.
type core struct {
	lead
	cfg    settings
	world  world
	claims claimIndex
	queue  queue
	// busy contains the instances with a write or a reading of their parts under way,
	// whichever term of leadership that began in.
	busy map[int]bool
	// refused caches refusals for other requests of the same form.
	refused map[string]refusal
	pruned  time.Time
}

// refusal is an error that other requests get until a time.
type refusal struct {
	err   error
	until time.Time
}

func newCore(cfg settings, now time.Time) *core {
	c := &core{cfg: cfg, claims: claimIndex{}, busy: map[int]bool{}, queue: queue{limit: cfg.Creations}, pruned: now}
	c.now = now
	c.world.writes = map[int]*unresolved{}
	c.begin(claims.MayStillWrite)
	return c
}

// begin drops everything that was read, and keeps callers and requests under way, and
// what own writes may still do.
func (c *core) begin(after claims.Predecessor) {
	c.term++
	c.started, c.landing = c.now, c.cfg.LateEffect
	if after == claims.Ended {
		c.landing = 0
	}
	c.world = newWorld(&c.cfg, &c.lead, c.world.writes)
	c.refused = map[string]refusal{}
	for _, cl := range c.claims.all() {
		cl.ambiguous, cl.labelTaken, cl.search.running, cl.labelOwner = time.Time{}, time.Time{}, false, 0
	}
}

// completeAt returns the earliest beginning of a list that must show every instance
// made by the process that led before: first those made by requests that took effect at
// once, then those made late. It is zero while no such list is possible: until then
// labels alone prevent a second instance.
func (c *core) completeAt() time.Time {
	for _, at := range []time.Time{c.shownAt(), c.started.Add(c.cfg.SettleTime + listLag)} {
		if !c.now.Before(at) {
			return at
		}
	}
	return time.Time{}
}

// list schedules a list of the cluster's instances begun at or after since. The step
// is none if there is one.
func (c *core) list(since time.Time, seq int, reason string) step {
	l := &c.world.list
	switch {
	case !l.began.Before(since) && !l.began.IsZero():
		return step{}
	case l.failed > seq:
		return refuse(l.err)
	case l.running:
		return wait(time.Time{})
	case c.now.Before(since):
		return wait(since)
	}
	l.running = true
	return c.do(effect{op: opList, text: c.cfg.own.cluster, reason: reason})
}

// readDirectly schedules a direct reading of an instance begun at or after since. The
// step is none if there is one; then gone reports whether the instance is proven not
// to exist.
func (c *core) readDirectly(id int, since time.Time, seq int, reason string) (gone bool, s step) {
	if _, gone := c.world.gone[id]; gone {
		return true, step{}
	}
	l := c.world.reads[id]
	if l == nil {
		l = &directRead{}
		c.world.reads[id] = l
	}
	l.used = c.now
	switch {
	case l.failed > seq:
		return false, refuse(l.err)
	case l.running:
		return false, wait(time.Time{})
	case l.absence.Twice():
		return c.refute(id, l, seq)
	case l.absence.Begun():
		since = l.absence.Since().Add(c.cfg.SettleTime)
	case !l.began.IsZero() && !l.began.Before(since):
		return false, step{}
	}
	if since = latest(since, l.notBefore); c.now.Before(since) {
		return false, wait(since)
	}
	return false, c.readNow(id, l, reason)
}

func (c *core) readNow(id int, l *directRead, reason string) step {
	l.running = true
	l.tried = c.now
	return c.do(effect{op: opRead, id: id, reason: reason})
}

// refute looks for an instance that answered 404 twice: in a list that must show it,
// and, while lists lag, directly again.
func (c *core) refute(id int, l *directRead, seq int) (gone bool, s step) {
	since := latest(l.absence.Since(), c.world.known(id).Add(listLag))
	if o := c.world.objects[id]; o != nil && c.world.stripped(o) {
		return c.searchStripped(o, since, seq)
	}
	began := c.world.list.began
	if began.Before(since) {
		if s := c.list(since, seq, "whether it is in the list"); !s.wait || s.until.IsZero() {
			return false, s
		}
	} else if again := began.Add(listAgain); !c.now.Before(again) {
		return false, c.list(again, seq, "whether it is still in the list")
	}
	if again := l.tried.Add(growing(longestPoll, listAgain*2, l.again)); c.now.Before(again) {
		return false, wait(again)
	}
	l.again++
	return false, c.readNow(id, l, "whether it is still missing")
}

// searchStripped searches for an instance whose tags were removed by its label: lists
// of the cluster do not show it.
func (c *core) searchStripped(o *object, since time.Time, seq int) (gone bool, s step) {
	if c.now.Before(since) {
		return false, wait(since)
	}
	cl := c.claims.get(o.who, o.Name)
	switch {
	case cl.search.running:
		return false, wait(time.Time{})
	case cl.failed > seq:
		return false, refuse(cl.err)
	}
	if again := cl.search.began.Add(listAgain); !cl.search.began.Before(since) && c.now.Before(again) {
		return false, wait(again)
	}
	cl.search.running = true
	return false, c.do(effect{op: opFind, claim: cl, text: o.Name, reason: "whether its label is still in use"})
}

// claimIndex contains the claimants of Create by ClaimID.Value.
type claimIndex map[string][]*claimState

// get returns the state of a claimant, and makes one if there is none.
func (x claimIndex) get(id claims.ClaimID, label string) *claimState {
	for _, cl := range x[id.Value] {
		if cl.id == id {
			return cl
		}
	}
	cl := &claimState{id: id, label: label}
	x[id.Value] = append(x[id.Value], cl)
	return cl
}

func (x claimIndex) remove(cl *claimState) {
	left := slices.DeleteFunc(x[cl.id.Value], func(other *claimState) bool { return other == cl })
	if x[cl.id.Value] = left; len(left) == 0 {
		delete(x, cl.id.Value)
	}
}

// all returns all of them, in no order.
func (x claimIndex) all() []*claimState {
	var all []*claimState
	for _, some := range x {
		all = append(all, some...)
	}
	return all
}
