package linodesim

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// Actor identifies the cause of a change.
type Actor struct {
	User      string // a token's user; "lke" for the platform; any name for a test or an operator's hand
	RequestID string // of the API request, if it was one
}

// LKE is the platform acting by itself.
var LKE = Actor(world.LKE)

// Entry records one change of state.
type Entry struct {
	Seq        int
	At         time.Time
	Actor      Actor
	Action     string // e.g. pool.create; see the Action constants
	ClusterID  int
	PoolID     int
	NodeID     string
	InstanceID int
	Before     string // the value before, where the action has one: a count, tags
	After      string
	Tags       string // of a pool that was created, comma separated: it has them for as long as it lives
}

// Actions in the audit log.
const (
	ClusterCreated   = world.ClusterCreated
	ClusterDeleted   = world.ClusterDeleted
	ClusterEdited    = world.ClusterEdited
	ClusterUpgraded  = world.ClusterUpgraded // before and after are versions of the control plane
	PoolCreated      = world.PoolCreated
	PoolCount        = world.PoolCount  // before and after are counts
	PoolEdited       = world.PoolEdited // anything but the count
	PoolDeleted      = world.PoolDeleted
	NodeRequested    = world.NodeRequested // a place was added to a pool
	NodeListed       = world.NodeListed
	NodeRemoved      = world.NodeRemoved // a place was taken out of a pool
	NodeJoined       = world.NodeJoined
	InstanceCreated  = world.InstanceCreated
	InstanceStatus   = world.InstanceStatus
	InstanceTagged   = world.InstanceTagged // before and after are the tags, comma separated
	InstanceEdited   = world.InstanceEdited
	InstanceDeleting = world.InstanceDeleting
	InstanceGone     = world.InstanceGone
	AssetCreated     = world.AssetCreated // a disk, config, image, firewall, placement group, VPC, tag: after names it
	AssetChanged     = world.AssetChanged
	AssetDeleted     = world.AssetDeleted
)

// Audit lists every change of state so far, oldest first.
func (s *Sim) Audit() []Entry {
	return each(at(s.world, owner, (*world.Moment).Audit), func(e world.Entry) Entry {
		return Entry{
			Seq: e.Seq, At: e.At, Actor: Actor(e.Actor), Action: e.Action, ClusterID: e.ClusterID, PoolID: e.PoolID, NodeID: e.NodeID,
			InstanceID: e.InstanceID, Before: e.Before, After: e.After, Tags: e.Tags,
		}
	})
}
