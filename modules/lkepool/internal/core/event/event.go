// Package event declares what goes into the engine's core and what comes out of it:
// events, the requests of callers, actions and answers. It has no state and decides
// nothing. A test writes and reads these directly; the shell translates them into calls
// of the Backend.
package event

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// An Event reports to the core that a caller came or left, that an effect ended, or that time has passed.
type Event interface{ isEvent() }

// Asked reports that a caller came. It is answered under its token, once.
type Asked struct {
	Token int
	Ask   Ask
}

// Left reports that the caller's context ended. It is answered from the record.
type Left struct {
	Token int
	Cause error
}

// Done reports that an effect ended. Began is when it was started, so what a read returned
// may be older than that by the settle time or the list lag, never by more.
// Cancelled: the read was given up because no caller was left.
type Done struct {
	Action    Action
	Began     time.Time
	Pools     []lkepool.Pool
	Instances []lkepool.Instance
	Pool      lkepool.Pool
	Instance  lkepool.Instance
	Err       error
	Cancelled bool
	// Unsent: the write waited for longer than Action.NotAfter, and was not sent.
	Unsent bool
}

// Tick reports that time has passed.
type Tick struct{}

func (Asked) isEvent() {}
func (Left) isEvent()  {}
func (Done) isEvent()  {}
func (Tick) isEvent()  {}

// An Ask holds a caller's request.
type Ask struct {
	Kind    AskKind
	Request lkepool.Request // of AskClaim
	// ID is the instance of AskGet, AskRelease and AskTags.
	ID          int
	By          claims.Claimant
	Remove, Add []string
	// Alive are the claimants of AskOrphans; Orphans are the instances that AskEvict
	// removes, and slots and pools go with them.
	Alive   []claims.Claimant
	Orphans []int
}

// AskKind identifies the call of the Allocator.
type AskKind int

// The kinds of calls.
const (
	AskClaim AskKind = iota
	AskGet
	AskRelease
	AskTags
	// AskList waits for both lists and answers with the claimed nodes.
	AskList
	// AskOrphans waits for both lists, begun before the caller listed Alive, and
	// answers with what may go; AskEvict removes what the caller agreed to.
	AskOrphans
	AskEvict
)

// An Answer is a caller's result.
type Answer struct {
	Node      lkepool.Node
	Nodes     []lkepool.Node
	Collected claims.Collected
	Err       error
}

// An Action instructs the shell. Reason is for people: the log, the
// Observer, and the transcripts of tests.
type Action struct {
	Op         Op
	Reason     string
	PoolID     int
	InstanceID int
	NodeID     string
	Count      int
	// Key and Bought belong to a purchase, Key also to a claim.
	Key    lkepool.Key
	Bought int
	Tags   []string
	// NotAfter is until when a write may be sent, because it rests on what was read
	// shortly before; later it is dropped, and decided again.
	NotAfter time.Time
	// Look is for how many nodes on their way a look is that the read is part of, 0 for a read of another kind.
	Look   int
	Token  int
	Answer *Answer // of OpAnswer alone
}

// Op identifies the kind of an action; its text is for people.
type Op string

// The actions: requests to the platform, and an answer to a caller.
const (
	OpListPools     Op = "list pools"
	OpListInstances Op = "list instances"
	OpGetPool       Op = "get pool"
	OpGetInstance   Op = "get instance"
	OpCreate        Op = "create pool"
	OpScale         Op = "scale pool"
	OpMark          Op = "tag instance"
	OpRemove        Op = "remove node"
	OpRetire        Op = "tag pool"
	OpDrop          Op = "delete pool"
	OpAnswer        Op = "answer"
)

// Write reports whether the action changes the platform.
func (o Op) Write() bool {
	switch o {
	case OpCreate, OpScale, OpMark, OpRemove, OpRetire, OpDrop:
		return true
	}
	return false
}

// Actions are the names of all requests.
func Actions() []string {
	var names []string
	for _, o := range []Op{OpListPools, OpListInstances, OpGetPool, OpGetInstance, OpCreate, OpScale, OpMark, OpRemove, OpRetire, OpDrop} {
		names = append(names, string(o))
	}
	return names
}

func (k AskKind) String() string {
	return [...]string{"claim", "get", "release", "set tags", "list", "collect", "collect"}[k]
}
