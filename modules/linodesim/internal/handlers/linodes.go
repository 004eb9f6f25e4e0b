package handlers

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListInstances answers GET /linode/instances.
func (Server) ListInstances(ctx context.Context, q server.ListInstancesRequestObject) (server.ListInstancesResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Instances(), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, instanceField(r),
		func(i world.Instance) api.Instance { return instance(i, r) })
	return server.ListInstances200JSONResponse{Body: api.InstancePage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetInstance answers GET /linode/instances/{linodeId}.
func (Server) GetInstance(ctx context.Context, q server.GetInstanceRequestObject) (server.GetInstanceResponseObject, error) {
	r := of(ctx)
	i, err := r.Seen.Instance(q.LinodeID)
	if err != nil {
		return nil, err
	}
	return server.GetInstance200JSONResponse{Body: instance(i, r)}, nil
}

// UpdateInstance answers PUT /linode/instances/{linodeId}.
func (Server) UpdateInstance(ctx context.Context, q server.UpdateInstanceRequestObject) (server.UpdateInstanceResponseObject, error) {
	r := of(ctx)
	change := world.InstanceUpdate{
		Label: q.Body.Label, Tags: q.Body.Tags, WatchdogEnabled: q.Body.WatchdogEnabled,
		MaintenancePolicy: (*string)(q.Body.MaintenancePolicy),
	}
	if a := q.Body.Alerts; a != nil {
		change.Alerts = world.AlertsUpdate{
			CPU: a.CPU, NetworkIn: a.NetworkIn, NetworkOut: a.NetworkOut, TransferQuota: a.TransferQuota, IO: a.Io,
		}
	}
	if b := q.Body.Backups; b != nil && b.Schedule != nil {
		change.BackupDay, change.BackupWindow = b.Schedule.Day, b.Schedule.Window
	}
	i, err := r.Live.UpdateInstance(r.Actor, q.LinodeID, change)
	if err != nil {
		return nil, err
	}
	return server.UpdateInstance200JSONResponse{Body: instance(i, r)}, nil
}

func instance(i world.Instance, r Request) api.Instance {
	plan, _ := r.Live.Catalog().Type(i.Type)
	encryption := api.InstanceDiskEncryption(i.DiskEncryption)
	policy := api.InstanceMaintenancePolicy(i.MaintenancePolicy)
	out := api.Instance{
		ID: i.ID, Label: i.Label, Status: api.InstanceStatus(i.Status), Type: i.Type, Region: i.Region, Tags: strings(i.Tags),
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
