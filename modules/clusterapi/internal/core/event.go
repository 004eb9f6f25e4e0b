package core

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// Event is one of [Arrived], [Left], [Read], [Written] and [Tick].
type Event any

// Arrived reports a call that came.
type Arrived struct {
	Token int
	Ask   Ask
}

// Left is a call whose context ended.
type Left struct {
	Token int
	Cause error
}

// Read is a reading that ended.
type Read struct {
	World clusterapi.World
	Err   error
	// Cancelled: the reading ended because no call waited for it; it answers no call.
	Cancelled bool
	// Epoch is the epoch of the action that it ends.
	Epoch int
}

// Written is a write that ended.
type Written struct {
	Write clusterapi.Write
	Err   error
	Epoch int
}

// Tick reports that time has passed.
type Tick struct{}

// Kind distinguishes calls.
type Kind int

const (
	// KindClaim waits for a Machine with a provider ID.
	KindClaim Kind = iota
	// KindRelease waits until a Machine is being deleted.
	KindRelease
	// KindWorld waits for a reading that begins after the call.
	KindWorld
)

// Ask has the parameters of a call.
type Ask struct {
	Kind    Kind
	Request clusterapi.Request
	// ProviderID or UID identifies the Machine to release, By its claimant, zero for a free Machine.
	ProviderID, UID string
	By              claims.Claimant
}

// Answer ends a call.
type Answer struct {
	Machine clusterapi.Machine
	World   clusterapi.World
	Err     error
}

// Action is an answer, a read or a write.
type Action struct {
	Op    ActionOp
	Epoch int
	Write clusterapi.Write
	// Token and Answer belong to an answer.
	Token  int
	Answer Answer
}

// ActionOp distinguishes actions.
type ActionOp int

const (
	// ActionRead reads the world.
	ActionRead ActionOp = iota
	// ActionWrite carries out Write.
	ActionWrite
	// ActionAnswer ends the call of Token.
	ActionAnswer
)
