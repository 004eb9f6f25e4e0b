package core

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/decide"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// The names under which the shell uses the inputs and outputs of the core.
type (
	Ask         = event.Ask
	Order       = event.Order
	Call        = callers.Call
	Step        = event.Step
	Effect      = event.Effect
	Result      = event.Result
	Answer      = event.Answer
	Instance    = event.Instance
	DiskState   = event.DiskState
	ConfigState = event.ConfigState
	Op          = event.Op
	Survey      = decide.Survey
	Tags        = tagging.Tags
	Settings    = tuning.Settings
)

// The calls of the Manager, and the requests.
const (
	AskCreate = event.AskCreate
	AskGet    = event.AskGet
	AskList   = event.AskList
	AskDelete = event.AskDelete
	AskEvict  = event.AskEvict
	AskTags   = event.AskTags

	OpList    = event.OpList
	OpFind    = event.OpFind
	OpRead    = event.OpRead
	OpDisks   = event.OpDisks
	OpDisk    = event.OpDisk
	OpConfigs = event.OpConfigs
	OpCreate  = event.OpCreate
	OpDelete  = event.OpDelete
	OpTag     = event.OpTag
	OpAddDisk = event.OpAddDisk
	OpAttach  = event.OpAttach
	OpBoot    = event.OpBoot
)

// The bounds of the shell: see package tuning.
const (
	ParallelRemovals = tuning.ParallelRemovals
	ParallelEffects  = tuning.ParallelEffects
	MostCreations    = tuning.CreationLimit
)

// ErrLabelTaken is the cause of a refusal because another instance has the label.
var ErrLabelTaken = event.ErrLabelTaken

// NewTags returns the tags of a cluster with the given keys; uid may be empty.
func NewTags(tags claims.Tags, cluster, uid string) Tags { return tagging.New(tags, cluster, uid) }

// Actions returns the names of all requests.
func Actions() []string { return event.Actions() }

// Timeout returns the time after which a request ends without an answer.
func Timeout(o Op) time.Duration {
	switch {
	case o == OpCreate:
		return tuning.CreateTimeout
	case o.Write():
		return tuning.WriteTimeout
	}
	return tuning.ReadTimeout
}
