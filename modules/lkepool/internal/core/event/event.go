// Package event declares the inputs and outputs of the engine's core: events, the
// requests of callers, actions and answers. It has no state and decides nothing. A test
// writes and reads these directly; the shell translates them into calls of the Backend.
package event

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// An Event reports to the core that a caller came or left, that a request ended, or that time has passed.
type Event interface{ isEvent() }

// Asked reports that a caller came. The core answers its token once.
type Asked struct {
	Token int
	Ask   Ask
}

// Left reports that the caller's context ended. The core answers from the record, at once.
type Left struct {
	Token int
	Cause error
}

// Done reports that a request ended. Began is when the request was sent. A read may show the
// platform as it was before Began, by at most the settle time or the list lag. Cancelled:
// the read was given up because no caller was left.
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
	// Alive are the claimants that exist, for AskOrphans and AskEvict. Orphans are the
	// instances that AskEvict removes. AskEvict also removes empty slots and pools.
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
	// AskOrphans answers with the nodes that may go. The caller has used AskList
	// before it listed Alive. AskEvict removes the nodes that the caller agreed
	// to.
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
	// NotAfter is the latest time at which a write may be sent, because the write
	// rests on a reading shortly before. Later it is dropped, and the core decides
	// again.
	NotAfter time.Time
	// Look is the number of nodes on their way that a look is for, if the read is part of a look. Otherwise it is 0.
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
