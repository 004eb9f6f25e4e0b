package instances

import (
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

// effect describes a request to be made.
type effect struct {
	op     op
	reason string
	term   int // counts Begin calls before it

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
	began     time.Time
	err       error
	instance  Instance
	instances []Instance
	disks     []DiskState // opDisk, opAddDisk: that one
	configs   []ConfigState
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
	cfg settings
	now time.Time
	// started is the time of the last Begin, term counts them.
	started time.Time
	term    int
	// seq counts results and tasks. A task compares it to ignore failures from before
	// its beginning.
	seq int

	world       world
	listing     listing
	directReads map[int]*directRead
	claims      map[claims.ClaimID]*claimState
	queue       queue
	// busy contains the instances with a write or a reading of their parts under way,
	// whichever term of leadership that began in.
	busy map[int]bool
	// refused caches refusals for other requests of the same form.
	refused map[string]refusal
}

// refusal is an error that other requests get until a time.
type refusal struct {
	err   error
	until time.Time
}

// listing is the list of the cluster's instances.
type listing struct {
	running bool
	began   time.Time // of the last one that succeeded; zero: none
	failed  int       // seq of the last failure
	err     error
}

func newCore(cfg settings, now time.Time) *core {
	c := &core{cfg: cfg, now: now, claims: map[claims.ClaimID]*claimState{}, busy: map[int]bool{}, queue: queue{limit: cfg.Creations}}
	c.begin()
	return c
}

// begin drops everything that was read, and keeps callers and requests under way.
func (c *core) begin() {
	c.term++
	c.started = c.now
	c.world = world{objects: map[int]*object{}, gone: map[int]time.Time{}}
	c.listing = listing{}
	c.directReads = map[int]*directRead{}
	c.refused = map[string]refusal{}
	for _, cl := range c.claims {
		cl.ambiguous, cl.labelTaken, cl.searching, cl.labelOwner = time.Time{}, time.Time{}, false, 0
	}
}

// settledAt returns the time from which direct readings show every write of the
// process that led before.
func (c *core) settledAt() time.Time { return c.started.Add(c.cfg.SettleTime + lastRequests) }

// completeAt returns the earliest beginning of a list that must show every instance
// made by the process that led before. It is zero while no such list is possible:
// until then labels alone prevent a second instance.
func (c *core) completeAt() time.Time {
	at := c.started.Add(listLag + lastRequests)
	if c.now.Before(at) {
		return time.Time{}
	}
	return at
}

// list schedules a list of the cluster's instances begun at or after since. The step
// is none if there is one.
func (c *core) list(since time.Time, seq int, reason string) step {
	switch {
	case !c.listing.began.Before(since) && !c.listing.began.IsZero():
		return step{}
	case c.listing.failed > seq:
		return refuse(c.listing.err)
	case c.listing.running:
		return wait(time.Time{})
	}
	c.listing.running = true
	return c.do(effect{op: opList, text: c.cfg.own.cluster, reason: reason})
}
