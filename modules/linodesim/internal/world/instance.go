package world

import (
	"reflect"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

const defaultPolicy = "linode/power_off_on"

// defaultSettings are the settings of a new Linode: the CPU threshold grows with the
// plan, recorded workers had the same policy.
func (w Linodes) defaultSettings(i *Instance) {
	plan, _ := w.catalog.Type(i.Type)
	i.Alerts = api.InstanceAlerts{CPU: 90 * max(plan.VCPUs, 1), NetworkIn: 10, NetworkOut: 10, TransferQuota: 80, Io: 10000}
	i.MaintenancePolicy = string(deref(w.assets.settings.MaintenancePolicy))
	if w.assets.settings.BackupsEnabled {
		i.BackupsEnabled, i.BackupDay, i.BackupWindow = true, "Scheduling", "Scheduling"
	}
}

// These values are the same for all Linodes.
var (
	instanceCapabilities = []string{"Block Storage Encryption", "SMTP Enabled", "Maintenance Policy"}
	noAlerts             = []int{}
	noLocks              = []api.ResourceLock{}
)

// instance returns a Linode as the API shows it. The answer points into the Linode, to
// save copies in long lists, and is written as JSON before the moment ends.
func (w Linodes) instance(i *Instance) api.Instance {
	plan, _ := w.catalog.Type(i.Type)
	out := api.Instance{
		ID: i.ID, Label: i.Label, Status: api.InstanceStatus(i.Status), Type: i.Type, Region: i.Region, Tags: nonNil(i.Tags), Group: i.Group,
		Created: api.Time{Time: i.Created}, Updated: api.Time{Time: i.Updated}, IPv4: i.IPv4(), IPv6: unlessZero(&i.IPv6),
		Image:    unlessZero(&i.Image),
		SiteType: "core", Hypervisor: "kvm", HostUUID: i.HostUUID, WatchdogEnabled: i.WatchdogEnabled, HasUserData: i.HasUserData,
		DiskEncryption:      (*api.InstanceDiskEncryption)(&i.DiskEncryption),
		MaintenancePolicy:   (*api.InstanceMaintenancePolicy)(&i.MaintenancePolicy),
		InterfaceGeneration: api.InstanceInterfaceGeneration(i.generation()), Alerts: i.Alerts, LKEClusterID: unlessZero(&i.ClusterID),
		Specs: api.InstanceSpecs{
			Disk: plan.Disk, Memory: plan.Memory, VCPUs: plan.VCPUs, GPUs: plan.GPUs, Transfer: plan.Transfer,
			AcceleratedDevices: deref(plan.AcceleratedDevices),
		},
		Backups: api.InstanceBackups{
			Enabled: i.BackupsEnabled, Available: i.BackupsEnabled,
			Schedule: api.InstanceBackupSchedule{Day: unlessZero(&i.BackupDay), Window: unlessZero(&i.BackupWindow)},
		},
		Capabilities: instanceCapabilities,
	}
	if i.ClusterID == 0 { // recorded workers have no such lists
		out.Alerts.SystemAlerts, out.Alerts.UserAlerts = &noAlerts, &noAlerts
	}
	if g, ok := w.assets.groups[i.PlacementGroup]; ok {
		out.PlacementGroup = &api.InstancePlacementGroup{
			ID: g.ID, Label: g.Label, PlacementGroupType: api.InstancePlacementGroupPlacementGroupType(g.PlacementGroupType),
			PlacementGroupPolicy: api.InstancePlacementGroupPlacementGroupPolicy(g.PlacementGroupPolicy),
		}
	}
	if w.Beta {
		out.Locks = &noLocks
	}
	return out
}

// ListInstances lists all Linodes by ID.
func (w Linodes) ListInstances() ([]api.Instance, error) {
	return each(sorted(w.instances), w.instance), nil
}

// GetInstance finds one.
func (w Linodes) GetInstance(linodeID int) (api.Instance, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.Instance{}, err
	}
	return w.instance(i), nil
}

// UpdateInstance changes a Linode; tags are replaced as a whole, and the last
// writer wins.
func (w Linodes) UpdateInstance(linodeID int, b *api.InstanceUpdate) (api.Instance, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.Instance{}, err
	}
	var bad reasons
	checkTags(&bad, deref(b.Tags))
	checkPolicy(&bad, deref(b.MaintenancePolicy))
	if b.Label != nil {
		w.checkInstanceLabel(&bad, i, *b.Label)
	}
	if err := bad.err(); err != nil {
		return api.Instance{}, err
	}
	if b.Label != nil && *b.Label != i.Label {
		w.record(w.Actor, account.Entry{
			Action: account.InstanceEdited, InstanceID: i.ID, ClusterID: i.ClusterID, Before: i.Label, After: *b.Label,
		})
		i.Label, i.Updated = *b.Label, w.now
	}
	before := *i
	if adjust(i, b); !reflect.DeepEqual(before, *i) {
		w.record(w.Actor, i.entry(account.InstanceEdited))
		i.Updated = w.now
	}
	if b.Tags != nil {
		had := i.Tags
		w.retag(w.Actor, i, union(*b.Tags))
		w.loseTags(i, had)
	}
	return w.instance(i), nil
}

// adjust applies the plain settings.
func adjust(i *Instance, b *api.InstanceUpdate) {
	set(&i.WatchdogEnabled, b.WatchdogEnabled)
	set(&i.MaintenancePolicy, b.MaintenancePolicy)
	set(&i.Group, b.Group)
	i.Alerts = overlaid[api.InstanceAlerts](i.Alerts, b.Alerts)
	if b.Backups != nil && b.Backups.Schedule != nil {
		set(&i.BackupDay, b.Backups.Schedule.Day)
		set(&i.BackupWindow, b.Backups.Schedule.Window)
	}
}

// checkPolicy refuses unknown policies in the API's words; "" is allowed.
func checkPolicy(bad *reasons, policy string) {
	if policy != "" && policy != "linode/migrate" && policy != defaultPolicy {
		bad.add("maintenance_policy", "Unsupported maintenance policy slug format.")
	}
}

func (w Linodes) checkInstanceLabel(bad *reasons, self *Instance, label string) {
	if !validInstanceLabel(label) {
		bad.add("label", "Label must be 3-64 characters, start with a letter, end with a letter or digit, and contain only letters, "+
			"digits, -, _ and . without --, __ or ..")
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
// while and acts by Behaviour.LostLinode.
func (w Linodes) DeleteInstance(linodeID int) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	w.vanish(w.Actor, i)
	n := w.workerNode(i)
	if n == nil {
		return nil
	}
	n.Status = account.NotReady
	if w.behaviour.LostLinode == account.RecreateLinode {
		w.after(w.delays.Repair.draw(w.draws.rng), func() {
			if !n.gone {
				w.Nodes().replaceNode(account.LKE, n)
			}
		})
	}
	return nil
}

// workerNode finds the place in a pool that the Linode fills.
func (w Linodes) workerNode(i *Instance) *node {
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

func (w Linodes) setStatus(by account.Actor, i *Instance, status string) {
	if w.instances[i.ID] != i || i.Status == status || i.Status == account.StatusDeleting {
		return
	}
	e := i.entry(account.InstanceStatus)
	if status == account.StatusDeleting {
		e.Action = account.InstanceDeleting
	}
	e.Before, e.After = i.Status, status
	w.record(by, e)
	stops := i.Status == account.StatusRunning
	i.Status, i.Updated = status, w.now
	w.Volumes().pass(i, stops)
}

// entry returns an entry of the audit log about a Linode, without the change.
func (i *Instance) entry(action string) account.Entry {
	return account.Entry{Action: action, ClusterID: i.ClusterID, PoolID: i.PoolID, NodeID: i.NodeID, InstanceID: i.ID}
}

// vanish removes the Linode for good.
func (w Linodes) vanish(by account.Actor, i *Instance) {
	if w.instances[i.ID] != i {
		return
	}
	delete(w.instances, i.ID)
	w.Groups().leave(i)
	w.assets.forget(i.ID)
	w.failAll(i.ID)
	e := i.entry(account.InstanceGone)
	e.Before = strings.Join(i.Tags, ",")
	w.recordOf(i.Label, by, e)
	w.Feed().publishGone(i)
	w.Nodes().serve()
}
