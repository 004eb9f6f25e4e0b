package world

import (
	"fmt"
	"slices"
	"time"
)

// AccountEvent is an entry of the account's list of events: a part of the audit
// log in the API's words.
type AccountEvent struct {
	ID                      int
	At                      time.Time
	User                    string
	Action                  string // such as linode_create
	EntityID                int
	EntityType, EntityLabel string
}

// URL is the entity's path in the API.
func (e AccountEvent) URL() string {
	if e.EntityType == "lkecluster" {
		return fmt.Sprintf("/v4/lke/clusters/%d", e.EntityID)
	}
	return fmt.Sprintf("/v4/linode/instances/%d", e.EntityID)
}

// eventNames are those of changes that the account's list of events has.
var eventNames = map[string]string{
	ClusterCreated: "lke_cluster_create", ClusterDeleted: "lke_cluster_delete", ClusterEdited: "lke_cluster_update",
	ClusterUpgraded: "lke_cluster_update", PoolCreated: "lke_pool_create", PoolDeleted: "lke_pool_delete",
	PoolCount: "lke_pool_update", PoolEdited: "lke_pool_update", NodeRequested: "lke_node_create",
	InstanceCreated: "linode_create", InstanceGone: "linode_delete", InstanceEdited: "linode_update", InstanceTagged: "linode_update",
}

// firstEvent is near the IDs that were recorded.
const firstEvent = 301189000

// Happened lists the events of the account, newest first. What the platform
// does to a node's Linode has the user lke.
func (w *World) Happened() []AccountEvent {
	defer w.lock()()
	var out []AccountEvent
	for _, e := range slices.Backward(w.audit) {
		name := eventNames[e.Action]
		if e.Action == InstanceStatus {
			name = map[string]string{StatusBooting: "linode_boot", StatusShuttingDown: "linode_shutdown"}[e.After]
		}
		if name == "" {
			continue
		}
		out = append(out, w.accountEvent(e, name))
	}
	return out
}

func (w *World) accountEvent(e Entry, name string) AccountEvent {
	out := AccountEvent{ID: firstEvent + e.Seq, At: e.At, User: e.Actor.User, Action: name, EntityID: e.InstanceID, EntityType: "linode"}
	if e.InstanceID == 0 {
		out.EntityID, out.EntityType = e.ClusterID, "lkecluster"
		if c := w.clusters[e.ClusterID]; c != nil {
			out.EntityLabel = c.Label
		}
	} else if i := w.instances[e.InstanceID]; i != nil {
		out.EntityLabel = i.Label
	}
	return out
}

// Since is when the world began.
func (w *World) Since() time.Time { return w.since }
