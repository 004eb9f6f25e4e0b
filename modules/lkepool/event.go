package lkepool

import "time"

// What goes into the core and what comes out of it. A test writes and reads
// these directly; the shell translates them into calls of the Backend.

// An event is one of asked, left, done and tick.
type event interface{ isEvent() }

// asked: a caller came. It is answered under its token, once.
type asked struct {
	token int
	ask   ask
}

// left: the caller's context ended. It is answered with what is known.
type left struct {
	token int
	cause error
}

// done: an effect ended. began is when it was started, so what a read returned
// may be older than that by the settle time or the list lag, never by more.
type done struct {
	action    action
	began     time.Time
	pools     []Pool
	instances []Instance
	pool      Pool
	instance  Instance
	err       error
}

// tick: time has passed.
type tick struct{}

func (asked) isEvent() {}
func (left) isEvent()  {}
func (done) isEvent()  {}
func (tick) isEvent()  {}

// An ask is what a caller wants.
type ask struct {
	kind    askKind
	request Request // askClaim
	// id is the instance of askGet, askRelease and askTags.
	id          int
	by          Claimant
	remove, add []string
	// alive are the claimants of askOrphans; orphans are what askEvict removes,
	// and places and pools go with it.
	alive   []Claimant
	orphans []int
}

type askKind int

const (
	askClaim askKind = iota
	askGet
	askRelease
	askTags
	// askList waits for both lists and answers with the claimed nodes.
	askList
	// askOrphans waits for both lists, begun before alive was asked for, and
	// answers with what may go; askEvict removes what the caller agreed to.
	askOrphans
	askEvict
)

// An answer is a caller's result.
type answer struct {
	node      Node
	nodes     []Node
	collected Collected
	err       error
}

// An action is what the shell has to do. reason is for people: the log, the
// Observer, and the transcripts of tests.
type action struct {
	op         op
	reason     string
	poolID     int
	instanceID int
	nodeID     string
	count      int
	// key and bought are those of a purchase, key that of a claim too.
	key    Key
	bought int
	tags   []string
	token  int
	answer *answer // of opAnswer alone
}

type op string

const (
	opListPools     op = "list pools"
	opListInstances op = "list instances"
	opGetPool       op = "get pool"
	opGetInstance   op = "get instance"
	opCreate        op = "create pool"
	opScale         op = "scale pool"
	opMark          op = "tag instance"
	opRemove        op = "remove node"
	opDrop          op = "delete pool"
	opAnswer        op = "answer"
)

// write says whether the action changes the platform.
func (o op) write() bool {
	switch o {
	case opCreate, opScale, opMark, opRemove, opDrop:
		return true
	}
	return false
}

// Actions are the values of ActionEnd.Op.
func Actions() []string {
	var names []string
	for _, o := range []op{opListPools, opListInstances, opGetPool, opGetInstance, opCreate, opScale, opMark, opRemove, opDrop} {
		names = append(names, string(o))
	}
	return names
}
