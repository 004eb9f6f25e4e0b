package handlers

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listInstanceDisks(linodeID int) (page[api.InstanceDisk], error) {
	disks, err := r.Seen.Disks(linodeID)
	if err != nil {
		return page[api.InstanceDisk]{}, err
	}
	return list(r, disks, disk)
}

func (r Request) getInstanceDisk(linodeID int, diskID int) (api.InstanceDisk, error) {
	return one(disk)(r.Seen.LinodeDisk(linodeID, diskID))
}

func (r Request) createInstanceDisk(linodeID int, b *api.InstanceDiskCreate) (api.InstanceDisk, error) {
	return one(disk)(r.Live.CreateDisk(r.Actor, linodeID, world.DiskSpec{
		Label: value(b.Label), Filesystem: string(value(b.Filesystem)), Image: value(b.Image), SizeMB: b.Size,
		Access: b.RootPass != nil || len(value(b.AuthorizedKeys)) > 0 || len(value(b.AuthorizedUsers)) > 0,
	}))
}

func (r Request) deleteInstanceDisk(linodeID int, diskID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteDisk(r.Actor, linodeID, diskID)
}

func disk(d world.LinodeDisk) api.InstanceDisk {
	encryption := api.DiskEncryption(d.Encryption)
	return api.InstanceDisk{
		ID: d.ID, Label: d.Label, Status: api.InstanceDiskStatus(d.Status), Filesystem: api.InstanceDiskFilesystem(d.Filesystem), Size: d.SizeMB,
		DiskEncryption: &encryption, Created: api.Time{Time: d.Created}, Updated: api.Time{Time: d.Updated},
	}
}
