package world

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// activity is an entry of the account's list of events. Its state follows from
// the time: scheduled before starts, started before ended, finished or failed
// afterwards. A copy of the world shows it as it was at the copy's time.
type activity struct {
	id              int
	action, user    string
	entity          *api.AccountEventEntity
	secondary       *api.AccountEventSecondaryEntity
	created, starts time.Time
	expected        time.Duration // from starts to ended
	ended           time.Time     // zero = not yet
	failed          bool
}

// activities has all events by ID, and the IDs of the unfinished events by Linode.
type activities struct {
	all  []*activity
	open map[int][]int
}

// shared returns the events for a copy of the world.
func (a activities) shared() activities { return activities{all: a.all[:len(a.all):len(a.all)]} }

// clone copies each event, because events change.
func (a activities) clone() activities {
	return activities{all: each(a.all, func(one *activity) *activity { return new(*one) }), open: maps.Clone(a.open)}
}

// firstEvent is near the IDs that were recorded.
const firstEvent = 301189000

// begin adds an event of work that starts after a while and takes about as long as
// expected. finish ends the work.
func (w *state) begin(user, action string, on *api.AccountEventEntity, with *api.AccountEventSecondaryEntity, after,
	expected time.Duration) int {
	all := &w.records.activities
	e := &activity{
		id: firstEvent + 1 + len(all.all), action: action, user: user, entity: on, secondary: with, created: w.now, starts: w.now.Add(after),
		expected: expected,
	}
	all.all = append(all.all, e)
	if on != nil && on.Type == linodeEntity {
		if all.open == nil {
			all.open = map[int][]int{}
		}
		all.open[on.ID] = append(slices.Clone(all.open[on.ID]), e.id)
	}
	w.history.changed = true
	return e.id
}

// finish ends the work of an event now. An event that has failed stays failed.
func (w *state) finish(id int) { w.end(id, false) }

func (w *state) end(id int, failed bool) {
	e := w.records.activities.all[id-firstEvent-1]
	if !e.ended.IsZero() {
		return
	}
	e.ended, e.failed = w.now, failed
	if w.now.Before(e.starts) {
		e.starts = w.now
	}
	if open := w.records.activities.open; e.entity != nil && e.entity.Type == linodeEntity {
		open[e.entity.ID] = slices.DeleteFunc(slices.Clone(open[e.entity.ID]), func(other int) bool { return other == id })
	}
	w.history.changed = true
}

// failAll ends the unfinished events of a Linode as failed.
func (w *state) failAll(linode int) {
	for _, id := range slices.Clone(w.records.activities.open[linode]) {
		w.end(id, true)
	}
	delete(w.records.activities.open, linode)
}

// happened adds an event of work that takes no time.
func (w *state) happened(user, action string, on *api.AccountEventEntity, with *api.AccountEventSecondaryEntity) {
	w.finish(w.begin(user, action, on, with, 0, 0))
}

// shownActivity is an event as the API shows it at this moment.
func (w *state) shownActivity(e *activity) api.AccountEvent {
	out := api.AccountEvent{
		ID: e.id, Created: api.Time{Time: e.created}, Action: e.action, Username: &e.user, Entity: e.entity, SecondaryEntity: e.secondary,
		Message: new(""), Status: "finished", PercentComplete: new(100), Details: new(map[string]any{}),
	}
	over := !e.ended.IsZero() && !w.now.Before(e.ended)
	switch {
	case over && e.failed:
		out.Status = "failed"
		out.Duration = new(float32(e.ended.Sub(e.starts).Seconds()))
	case over:
		out.Duration = new(float32(e.ended.Sub(e.starts).Seconds()))
	case w.now.Before(e.starts):
		out.Status, out.PercentComplete = "scheduled", new(0)
	default:
		out.Status, out.PercentComplete = "started", new(e.percent(w.now))
		out.TimeRemaining = max(0, e.expected-w.now.Sub(e.starts)).Seconds()
	}
	return out
}

// percent goes from 5 to 99 within the expected time.
func (e *activity) percent(now time.Time) int {
	if e.expected <= 0 {
		return 5
	}
	return min(99, 5+int(95*now.Sub(e.starts)/e.expected))
}

// Kinds of entities.
const linodeEntity = "linode"

func onLinode(i *Instance) *api.AccountEventEntity {
	return &api.AccountEventEntity{ID: i.ID, Type: linodeEntity, Label: i.Label, URL: fmt.Sprintf("/v4/linode/instances/%d", i.ID)}
}

func onObject(kind string, id int, label, url string) *api.AccountEventEntity {
	return &api.AccountEventEntity{ID: id, Type: kind, Label: label, URL: fmt.Sprintf(url, id)}
}

func withDisk(linode int, d api.InstanceDisk) *api.AccountEventSecondaryEntity {
	return &api.AccountEventSecondaryEntity{
		ID: d.ID, Type: "disk", Label: d.Label, URL: fmt.Sprintf("/v4/linode/instances/%d/disks/%d", linode, d.ID),
	}
}

func withConfig(linode int, c api.InstanceConfig) *api.AccountEventSecondaryEntity {
	return &api.AccountEventSecondaryEntity{
		ID: c.ID, Type: "linode_config", Label: c.Label, URL: fmt.Sprintf("/v4/linode/instances/%d/configs/%d", linode, c.ID),
	}
}

// entity names an image, whose ID is text; nil without one.
func (w Images) entity(id string) *api.AccountEventSecondaryEntity {
	if id == "" {
		return nil
	}
	return &api.AccountEventSecondaryEntity{ID: id, Type: "image", Label: w.imageLabel(id), URL: "/v4/images/" + id}
}

// instantEvents are the names of changes that take no time.
var instantEvents = map[string]string{
	account.ClusterCreated: "lke_cluster_create", account.ClusterDeleted: "lke_cluster_delete", account.ClusterEdited: "lke_cluster_update",
	account.ClusterUpgraded: "lke_cluster_update", account.PoolCreated: "lke_pool_create", account.PoolDeleted: "lke_pool_delete",
	account.PoolCount: "lke_pool_update", account.PoolEdited: "lke_pool_update", account.NodeRequested: "lke_node_create",
	account.InstanceGone: "linode_delete", account.InstanceEdited: "linode_update", account.InstanceTagged: "linode_update",
}

// instantly adds an event for an entry of the audit log that takes no time.
func (w *state) instantly(label string, e account.Entry) {
	name := instantEvents[e.Action]
	if name == "" {
		return
	}
	if e.InstanceID != 0 {
		entity := onObject(linodeEntity, e.InstanceID, label, "/v4/linode/instances/%d")
		if i := w.instances[e.InstanceID]; i != nil {
			entity.Label = i.Label
		}
		w.happened(e.Actor.User, name, entity, nil)
		return
	}
	entity := onObject("lkecluster", e.ClusterID, "", "/v4/lke/clusters/%d")
	if c := w.clusters[e.ClusterID]; c != nil {
		entity.Label = c.Label
	} else if e.Action == account.ClusterDeleted {
		entity.Label = e.Before
	}
	w.happened(e.Actor.User, name, entity, nil)
}
