package world

import (
	"slices"
	"time"
)

// Actor identifies the cause of a change.
type Actor struct {
	User      string // a token's user; "lke" for the platform; any name for a test or an operator's hand
	RequestID string // of the API request, if it was one
}

// LKE is the platform acting by itself.
var LKE = Actor{User: "lke"}

// Entry is one change of state.
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

	label string // of an object that is gone already
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

func (w *Moment) record(by Actor, e Entry) {
	e.Seq = len(w.records.audit) + 1
	e.At = w.now
	e.Actor = by
	w.records.audit = append(w.records.audit, e)
	w.instantly(e)
	w.history.changed = true
}

// Audit gives every change so far, oldest first.
func (w *Moment) Audit() []Entry {
	return slices.Clone(w.records.audit)
}
