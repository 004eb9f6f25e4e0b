package world

import (
	"slices"
	"strings"
)

// InstanceUpdate changes a Linode; nil fields keep their value.
type InstanceUpdate struct {
	Label             *string
	Tags              *[]string
	WatchdogEnabled   *bool
	MaintenancePolicy *string
	Group             *string
	Alerts            AlertsUpdate
	BackupDay         *string
	BackupWindow      *string
}

// AlertsUpdate changes thresholds; nil fields keep their value.
type AlertsUpdate struct {
	CPU, NetworkIn, NetworkOut, TransferQuota, IO *int
}

// defaultSettings are those of a new Linode: the CPU threshold grows with the
// plan, the policy is what workers were recorded with.
func (w *World) defaultSettings(i *Instance) {
	plan, _ := w.catalog.Type(i.Type)
	i.Alerts = Alerts{CPU: 90 * max(plan.VCPUs, 1), NetworkIn: 10, NetworkOut: 10, TransferQuota: 80, IO: 10000}
	i.MaintenancePolicy = "linode/power_off_on"
	if w.accountBackups {
		i.BackupsEnabled, i.BackupDay, i.BackupWindow = true, "Scheduling", "Scheduling"
	}
}

// Instances lists all Linodes by ID.
func (w *World) Instances() []Instance {
	defer w.lock()()
	return w.instanceStates()
}

// Instance finds one.
func (w *World) Instance(id int) (Instance, error) {
	defer w.lock()()
	i, ok := w.instances[id]
	if !ok {
		return Instance{}, notFound()
	}
	return i.clone(), nil
}

// UpdateInstance changes a Linode; tags are replaced as a whole, and the last
// writer wins.
func (w *World) UpdateInstance(by Actor, id int, change InstanceUpdate) (Instance, error) {
	defer w.lock()()
	i, ok := w.instances[id]
	if !ok {
		return Instance{}, notFound()
	}
	var bad reasons
	if change.Tags != nil {
		checkTags(&bad, *change.Tags)
	}
	checkPolicy(&bad, deref(change.MaintenancePolicy))
	if change.Label != nil {
		w.checkInstanceLabel(&bad, i, *change.Label)
	}
	if err := bad.err(); err != nil {
		return Instance{}, err
	}
	if change.Label != nil && *change.Label != i.Label {
		w.record(by, Entry{Action: InstanceEdited, InstanceID: i.ID, ClusterID: i.ClusterID, Before: i.Label, After: *change.Label})
		i.Label, i.Updated = *change.Label, w.now
	}
	if w.adjust(i, change) {
		w.record(by, Entry{Action: InstanceEdited, InstanceID: i.ID, ClusterID: i.ClusterID, PoolID: i.PoolID, NodeID: i.NodeID})
		i.Updated = w.now
	}
	if change.Tags != nil {
		w.retag(by, i, union(*change.Tags))
	}
	return i.clone(), nil
}

// adjust applies the plain settings and reports whether one changed.
func (w *World) adjust(i *Instance, change InstanceUpdate) bool {
	before := i.clone()
	set(&i.WatchdogEnabled, change.WatchdogEnabled)
	set(&i.MaintenancePolicy, change.MaintenancePolicy)
	set(&i.Group, change.Group)
	set(&i.Alerts.CPU, change.Alerts.CPU)
	set(&i.Alerts.NetworkIn, change.Alerts.NetworkIn)
	set(&i.Alerts.NetworkOut, change.Alerts.NetworkOut)
	set(&i.Alerts.TransferQuota, change.Alerts.TransferQuota)
	set(&i.Alerts.IO, change.Alerts.IO)
	set(&i.BackupDay, change.BackupDay)
	set(&i.BackupWindow, change.BackupWindow)
	return before.WatchdogEnabled != i.WatchdogEnabled || before.MaintenancePolicy != i.MaintenancePolicy ||
		before.Group != i.Group ||
		before.Alerts != i.Alerts || before.BackupDay != i.BackupDay || before.BackupWindow != i.BackupWindow
}

// checkPolicy refuses unknown policies in the API's words; "" is none.
func checkPolicy(bad *reasons, policy string) {
	if policy != "" && policy != "linode/migrate" && policy != "linode/power_off_on" {
		bad.add("maintenance_policy", "Unsupported maintenance policy slug format.")
	}
}

func (w *World) checkInstanceLabel(bad *reasons, self *Instance, label string) {
	if !validInstanceLabel(label) {
		bad.add("label", "Label must be 3-64 characters, start with a letter and contain only letters, digits, -, _ and . (none of the last three doubled)")
		return
	}
	for _, other := range w.instances {
		if other != self && other.Label == label {
			bad.add("label", "Label must be unique among your linodes")
			return
		}
	}
}

// DeleteInstance deletes a Linode. If it was a worker, LKE notices after a
// while and acts as Behaviour.LostLinode says.
func (w *World) DeleteInstance(by Actor, id int) error {
	defer w.lock()()
	i, ok := w.instances[id]
	if !ok {
		return notFound()
	}
	w.vanish(by, i)
	n := w.workerNode(i)
	if n == nil {
		return nil
	}
	n.Status = NotReady
	if w.behaviour.LostLinode == RecreateLinode {
		w.after(w.profile.Repair.draw(w.rng), func() {
			if !n.gone {
				w.replaceNode(LKE, n)
			}
		})
	}
	return nil
}

// workerNode finds the place in a pool that the Linode fills.
func (w *World) workerNode(i *Instance) *node {
	p, ok := w.pools[i.PoolID]
	if !ok {
		return nil
	}
	at := slices.IndexFunc(p.nodes, func(n *node) bool { return n.ID == i.NodeID })
	if at < 0 {
		return nil
	}
	return p.nodes[at]
}

func (w *World) setStatus(i *Instance, status string) { w.status(LKE, i, status) }

func (w *World) status(by Actor, i *Instance, status string) {
	if w.instances[i.ID] != i || i.Status == status || i.Status == StatusDeleting {
		return
	}
	action := InstanceStatus
	if status == StatusDeleting {
		action = InstanceDeleting
	}
	w.record(by, Entry{Action: action, ClusterID: i.ClusterID, PoolID: i.PoolID, NodeID: i.NodeID, InstanceID: i.ID, Before: i.Status, After: status})
	i.Status, i.Updated = status, w.now
}

// vanish removes the Linode for good.
func (w *World) vanish(by Actor, i *Instance) {
	if w.instances[i.ID] != i {
		return
	}
	delete(w.instances, i.ID)
	w.leave(i)
	w.assets.forget(i.ID)
	w.record(by, Entry{
		Action: InstanceGone, ClusterID: i.ClusterID, PoolID: i.PoolID, NodeID: i.NodeID, InstanceID: i.ID, Before: strings.Join(i.Tags, ","),
	})
	w.publishGone(i)
}
