package handlers

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listInstances() (page[api.Instance], error) {
	return list(r, r.Seen.Instances(), func(i world.Instance) api.Instance { return instance(i, r) })
}

func (r Request) getInstance(linodeID int) (api.Instance, error) {
	i, err := r.Seen.Instance(linodeID)
	if err != nil {
		return api.Instance{}, err
	}
	return instance(i, r), nil
}

func (r Request) updateInstance(linodeID int, b *api.InstanceUpdate) (api.Instance, error) {
	change := world.InstanceUpdate{
		Label: b.Label, Tags: b.Tags, WatchdogEnabled: b.WatchdogEnabled,
		MaintenancePolicy: b.MaintenancePolicy, Group: b.Group,
	}
	if a := b.Alerts; a != nil {
		change.Alerts = world.AlertsUpdate{
			CPU: a.CPU, NetworkIn: a.NetworkIn, NetworkOut: a.NetworkOut, TransferQuota: a.TransferQuota, IO: a.Io,
		}
	}
	if b := b.Backups; b != nil && b.Schedule != nil {
		change.BackupDay, change.BackupWindow = b.Schedule.Day, b.Schedule.Window
	}
	i, err := r.Live.UpdateInstance(r.Actor, linodeID, change)
	if err != nil {
		return api.Instance{}, err
	}
	return instance(i, r), nil
}

func instance(i world.Instance, r Request) api.Instance {
	plan, _ := r.Live.Catalog().Type(i.Type)
	encryption := api.InstanceDiskEncryption(i.DiskEncryption)
	policy := api.InstanceMaintenancePolicy(i.MaintenancePolicy)
	out := api.Instance{
		ID: i.ID, Label: i.Label, Status: api.InstanceStatus(i.Status), Type: i.Type, Region: i.Region, Tags: nonNil(i.Tags),
		Created: api.Time{Time: i.Created}, Updated: api.Time{Time: i.Updated}, IPv4: i.IPv4(), IPv6: optional(i.IPv6),
		Image: optional(i.Image), SiteType: "core", Hypervisor: "kvm", HostUUID: i.HostUUID, WatchdogEnabled: i.WatchdogEnabled,
		HasUserData: i.HasUserData, DiskEncryption: &encryption, InterfaceGeneration: "legacy_config", MaintenancePolicy: &policy,
		Specs: specs(plan),
		Alerts: api.InstanceAlerts{
			CPU: i.Alerts.CPU, NetworkIn: i.Alerts.NetworkIn, NetworkOut: i.Alerts.NetworkOut,
			TransferQuota: i.Alerts.TransferQuota, Io: i.Alerts.IO,
		},
		Backups: api.InstanceBackups{
			Enabled: i.BackupsEnabled, Available: i.BackupsEnabled,
			Schedule: api.InstanceBackupSchedule{Day: optional(i.BackupDay), Window: optional(i.BackupWindow)},
		},
		Capabilities: []string{"Block Storage Encryption", "SMTP Enabled", "Maintenance Policy"},
	}
	out.Group = i.Group
	if i.Generation != "" {
		out.InterfaceGeneration = api.InstanceInterfaceGeneration(i.Generation)
	}
	if i.ClusterID != 0 {
		out.LKEClusterID = &i.ClusterID
	} else { // workers were recorded without
		out.Alerts.SystemAlerts, out.Alerts.UserAlerts = &[]int{}, &[]int{}
	}
	if g, err := r.group(i); err == nil {
		out.PlacementGroup = &api.InstancePlacementGroup{
			ID: g.ID, Label: g.Label, PlacementGroupType: api.InstancePlacementGroupPlacementGroupType(g.Type),
			PlacementGroupPolicy: api.InstancePlacementGroupPlacementGroupPolicy(g.Policy),
		}
	}
	if r.Beta {
		out.Locks = &[]api.ResourceLock{}
	}
	return out
}

func specs(t catalog.Type) api.InstanceSpecs {
	return api.InstanceSpecs{
		Disk: t.DiskMB, Memory: t.MemoryMB, VCPUs: t.VCPUs, GPUs: t.GPUs, Transfer: t.TransferGB, AcceleratedDevices: t.AcceleratedDevices,
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// group finds the Linode's placement group; most have none, and are not asked
// about.
func (r Request) group(i world.Instance) (world.PlacementGroup, error) {
	if i.PlacementGroup == 0 {
		return world.PlacementGroup{}, notFound()
	}
	return r.Seen.PlacementGroup(i.PlacementGroup)
}
