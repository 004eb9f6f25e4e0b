package core

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// The names under which the shell uses the events and actions of the core.
type (
	Event   = event.Event
	Asked   = event.Asked
	Left    = event.Left
	Done    = event.Done
	Tick    = event.Tick
	Ask     = event.Ask
	AskKind = event.AskKind
	Answer  = event.Answer
	Action  = event.Action
	Op      = event.Op
	Tagging = tagging.Tags
)

// The calls of the Allocator, and the actions.
const (
	AskClaim   = event.AskClaim
	AskGet     = event.AskGet
	AskRelease = event.AskRelease
	AskTags    = event.AskTags
	AskList    = event.AskList
	AskOrphans = event.AskOrphans
	AskEvict   = event.AskEvict

	OpListPools     = event.OpListPools
	OpListInstances = event.OpListInstances
	OpGetPool       = event.OpGetPool
	OpGetInstance   = event.OpGetInstance
	OpCreate        = event.OpCreate
	OpScale         = event.OpScale
	OpMark          = event.OpMark
	OpRemove        = event.OpRemove
	OpRetire        = event.OpRetire
	OpDrop          = event.OpDrop
	OpAnswer        = event.OpAnswer
)

// The bounds of the shell: see package tuning.
const (
	ParallelRemovals = tuning.ParallelRemovals
	ParallelEffects  = tuning.ParallelEffects
	ReadTimeout      = tuning.ReadTimeout
	WriteTimeout     = tuning.WriteTimeout
)

// NewTagging returns the tags with the given keys.
func NewTagging(tags claims.Tags) Tagging { return tagging.New(tags) }

// Actions are the names of all requests.
func Actions() []string { return event.Actions() }

// AsError names the call in an error, and passes on the kind of its cause.
func AsError(op string, err error) error { return callers.AsError(op, err) }
