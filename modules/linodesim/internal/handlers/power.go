package handlers

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// CreateInstance answers POST /linode/instances.
func (Server) CreateInstance(ctx context.Context, q server.CreateInstanceRequestObject) (server.CreateInstanceResponseObject, error) {
	r := of(ctx)
	if err := notHere(q.Body); err != nil {
		return nil, err
	}
	b := q.Body
	spec := world.InstanceCreate{
		InstanceSpec: world.InstanceSpec{Label: value(b.Label), Type: b.Type, Region: b.Region, Image: value(b.Image), Tags: value(b.Tags)},
		Off:          b.Booted != nil && !*b.Booted,
		Access:       b.RootPass != nil || len(value(b.AuthorizedKeys)) > 0 || len(value(b.AuthorizedUsers)) > 0,
		FirewallID:   b.FirewallID, DiskEncryption: string(value(b.DiskEncryption)), MaintenancePolicy: string(value(b.MaintenancePolicy)),
		Generation: string(value(b.InterfaceGeneration)), PrivateIP: value(b.PrivateIP), Backups: value(b.BackupsEnabled),
		SwapMB: b.SwapSize, BootMB: value(b.BootSize), Kernel: value(b.Kernel), Group: value(b.Group),
	}
	if b.Metadata != nil {
		spec.UserData = b.Metadata.UserData
	}
	if b.PlacementGroup != nil {
		spec.PlacementGroup = b.PlacementGroup.ID
	}
	for n, f := range value(b.Interfaces) {
		made, err := newInterface(n, f, spec.Generation)
		if err != nil {
			return nil, err
		}
		spec.Interfaces = append(spec.Interfaces, made)
	}
	i, err := r.Live.CreateInstance(r.Actor, spec)
	if err != nil {
		return nil, err
	}
	return server.CreateInstance200JSONResponse{Body: instance(i, r)}, nil
}

// notHere refuses what names things of which there are none: backups,
// StackScripts, reserved addresses.
func notHere(b *api.InstanceCreate) error {
	switch {
	case b.BackupID != nil:
		return refusal("backup_id", "backup_id is not valid")
	case b.StackscriptID != nil || b.StackscriptData != nil:
		return refusal("stackscript_id", "stackscript_id is not valid")
	case len(value(b.IPv4)) > 0:
		return refusal("ipv4[0]", "ipv4[0] is not a reserved address of the account")
	case b.NetworkHelper != nil && value(b.InterfaceGeneration) != "linode":
		return refusal("network_helper", "network_helper is only for interfaces of the generation linode")
	}
	return nil
}

// DeleteInstance answers DELETE /linode/instances/{linodeId}.
func (Server) DeleteInstance(ctx context.Context, q server.DeleteInstanceRequestObject) (server.DeleteInstanceResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteInstance(r.Actor, q.LinodeID)
	return server.DeleteInstance200JSONResponse{Body: api.Empty{}}, err
}

// BootInstance answers POST /linode/instances/{linodeId}/boot.
func (Server) BootInstance(ctx context.Context, q server.BootInstanceRequestObject) (server.BootInstanceResponseObject, error) {
	r := of(ctx)
	config := 0
	if q.Body != nil {
		config = value(q.Body.ConfigID)
	}
	err := r.Live.Boot(r.Actor, q.LinodeID, config)
	return server.BootInstance200JSONResponse{Body: api.Empty{}}, err
}

// ShutdownInstance answers POST /linode/instances/{linodeId}/shutdown.
func (Server) ShutdownInstance(ctx context.Context, q server.ShutdownInstanceRequestObject) (server.ShutdownInstanceResponseObject, error) {
	r := of(ctx)
	err := r.Live.Shutdown(r.Actor, q.LinodeID)
	return server.ShutdownInstance200JSONResponse{Body: api.Empty{}}, err
}
