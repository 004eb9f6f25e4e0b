package account

import "time"

// Actor identifies the cause of a change.
type Actor struct {
	User      string // a token's user; "lke" for the platform; any name for a test or a change by hand
	RequestID string // of the API request, if a request made the change
}

// LKE is the platform acting by itself.
var LKE = Actor{User: "lke"}

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
	Tags       string // the tags that a pool was created with, comma separated
}

// Actions in the audit log.
const (
	ClusterCreated   = "cluster.create"
	ClusterDeleted   = "cluster.delete"
	ClusterEdited    = "cluster.edit"
	ClusterUpgraded  = "cluster.upgrade" // before and after are versions of the control plane
	PoolCreated      = "pool.create"
	PoolCount        = "pool.count" // before and after are counts
	PoolEdited       = "pool.edit"  // anything but the count
	PoolDeleted      = "pool.delete"
	NodeRequested    = "node.request" // a place was added to a pool
	NodeListed       = "node.listed"
	NodeRemoved      = "node.remove" // a place was taken out of a pool
	NodeJoined       = "node.join"
	InstanceCreated  = "instance.create"
	InstanceStatus   = "instance.status"
	InstanceTagged   = "instance.tags" // before and after are the tags, comma separated
	InstanceEdited   = "instance.edit"
	InstanceDeleting = "instance.deleting"
	InstanceGone     = "instance.gone"
	AssetCreated     = "asset.create" // a disk, config, image, firewall, placement group, VPC, tag: after names it
	AssetChanged     = "asset.change"
	AssetDeleted     = "asset.delete"
)
