package instances

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// op is a request to the platform.
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

// Actions are the values of ActionEnd.Op.
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

// ofParts reports a reading of an instance's disks or configurations.
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

// effect is a request to be made.
type effect struct {
	op     op
	reason string
	term   int // the number of Begin calls before it

	claim    *claim // opFind, opCreate
	id       int    // the instance, of all others but opList
	text     string // opList: the tag; opFind: the label
	creation Creation
	tags     []string
	disk     Disk // opAddDisk
	diskID   int  // opDisk
	config   int
	devices  map[string]int
}

// result is how an effect ended.
type result struct {
	effect
	began     time.Time
	err       error
	instance  Instance
	instances []Instance
	disks     []DiskState // opDisk, opAddDisk: that one
	configs   []ConfigState
}

// answer is what a call returns.
type answer struct {
	instance  Instance
	instances []Instance
	err       error
}

// step is what a task needs next: exactly one of an effect, an answer, or to
// be asked again when something has changed, at the latest at a time.
type step struct {
	effect *effect
	end    *answer
	wait   bool
	until  time.Time // of a wait; zero: when something has changed
}

func end(a answer) step     { return step{end: &a} }
func refuse(err error) step { return step{end: &answer{err: err}} }

// wait is for a change, or a time.
func wait(until time.Time) step { return step{wait: true, until: until} }

func (c *core) do(e effect) step {
	e.term = c.term
	if e.id != 0 && e.op != opRead {
		c.busy[e.id] = true
	}
	return step{effect: &e}
}

// none reports that nothing is to be done first.
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

// task is one call. It decides nothing but what it needs next.
type task interface {
	// begin is called once, before all else; next as often as anything has
	// changed, until it ends; leave when the caller goes away before that.
	begin(c *core)
	next(c *core) step
	leave(c *core, cause error) answer
	// ended is called once, when the task is over in either way.
	ended(c *core)
}

// core is all that is known, and the time. It has no lock: the shell has one.
type core struct {
	cfg settings
	now time.Time
	// started is when this process began to lead, term how often it did.
	started time.Time
	term    int
	// seq counts results and tasks, so that a task can tell failures since its
	// beginning from older ones.
	seq int

	world  world
	survey survey
	looks  map[int]*look
	claims map[claims.ClaimID]*claim
	queue  queue
	// busy has the instances to which a write is under way, or of which the parts
	// are being read, in whichever term of leadership that began.
	busy map[int]bool
	// refused has refusals that answer others who ask for the same.
	refused map[string]refusal
}

// refusal is an answer that is repeated for a while.
type refusal struct {
	err   error
	until time.Time
}

// survey is the list of the cluster's instances.
type survey struct {
	running bool
	began   time.Time // of the last one that succeeded; zero: none
	failed  int       // seq of the last failure
	err     error
}

func newCore(cfg settings, now time.Time) *core {
	c := &core{cfg: cfg, now: now, claims: map[claims.ClaimID]*claim{}, busy: map[int]bool{}, queue: queue{limit: cfg.Creations}}
	c.begin()
	return c
}

// begin forgets what was seen and keeps the callers, and what is under way.
func (c *core) begin() {
	c.term++
	c.started = c.now
	c.world = world{objects: map[int]*object{}, gone: map[int]time.Time{}}
	c.survey = survey{}
	c.looks = map[int]*look{}
	c.refused = map[string]refusal{}
	for _, cl := range c.claims {
		cl.unsure, cl.taken, cl.finding, cl.blocker = time.Time{}, time.Time{}, false, 0
	}
}

// quiet is from when on readings show all that the process which led before has
// written.
func (c *core) quiet() time.Time { return c.started.Add(c.cfg.SettleTime + lastRequests) }

// complete is the beginning of the first list that must show all that the process which led before has made. It is zero while such a list
// cannot be had yet: until then labels alone prevent a second instance.
func (c *core) complete() time.Time {
	at := c.started.Add(listLag + lastRequests)
	if c.now.Before(at) {
		return time.Time{}
	}
	return at
}

// list schedules a list of the cluster's instances that began at or after since.
// The step is none when there is one.
func (c *core) list(since time.Time, seq int, reason string) step {
	switch {
	case !c.survey.began.Before(since) && !c.survey.began.IsZero():
		return step{}
	case c.survey.failed > seq:
		return refuse(c.survey.err)
	case c.survey.running:
		return wait(time.Time{})
	}
	c.survey.running = true
	return c.do(effect{op: opList, text: c.cfg.own.cluster, reason: reason})
}
