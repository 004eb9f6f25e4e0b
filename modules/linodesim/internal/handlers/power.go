package handlers

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) createInstance(b *api.InstanceCreate) (api.Instance, error) {
	if err := notHere(b); err != nil {
		return api.Instance{}, err
	}
	spec := world.InstanceCreate{
		InstanceSpec: world.InstanceSpec{Label: value(b.Label), Type: b.Type, Region: b.Region, Image: value(b.Image), Tags: value(b.Tags)},
		Off:          b.Booted != nil && !*b.Booted,
		Access:       b.RootPass != nil || len(value(b.AuthorizedKeys)) > 0 || len(value(b.AuthorizedUsers)) > 0,
		FirewallID:   b.FirewallID, DiskEncryption: string(value(b.DiskEncryption)), MaintenancePolicy: value(b.MaintenancePolicy),
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
			return api.Instance{}, err
		}
		spec.Interfaces = append(spec.Interfaces, made)
	}
	i, err := r.Live.CreateInstance(r.Actor, spec)
	if err != nil {
		return api.Instance{}, err
	}
	return instance(i, r), nil
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

func (r Request) deleteInstance(linodeID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteInstance(r.Actor, linodeID)
}

func (r Request) bootInstance(linodeID int, b *api.InstanceBoot) (api.Empty, error) {
	config := 0
	if b != nil {
		config = value(b.ConfigID)
	}
	err := r.Live.Boot(r.Actor, linodeID, config)
	return api.Empty{}, err
}

func (r Request) shutdownInstance(linodeID int) (api.Empty, error) {
	return api.Empty{}, r.Live.Shutdown(r.Actor, linodeID)
}
