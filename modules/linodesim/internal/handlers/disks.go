package handlers

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListInstanceDisks answers GET /linode/instances/{linodeId}/disks.
func (Server) ListInstanceDisks(ctx context.Context, q server.ListInstanceDisksRequestObject) (server.ListInstanceDisksResponseObject, error) {
	r := of(ctx)
	disks, err := r.Seen.Disks(q.LinodeID)
	if err != nil {
		return nil, err
	}
	l, err := list(r, disks, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, func(world.LinodeDisk, string) any { return nil }, disk)
	return server.ListInstanceDisks200JSONResponse{Body: api.InstanceDiskPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetInstanceDisk answers GET /linode/instances/{linodeId}/disks/{diskId}.
func (Server) GetInstanceDisk(ctx context.Context, q server.GetInstanceDiskRequestObject) (server.GetInstanceDiskResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.LinodeDisk(q.LinodeID, q.DiskID)
	if err != nil {
		return nil, err
	}
	return server.GetInstanceDisk200JSONResponse{Body: disk(found)}, nil
}

// CreateInstanceDisk answers POST /linode/instances/{linodeId}/disks.
func (Server) CreateInstanceDisk(ctx context.Context, q server.CreateInstanceDiskRequestObject) (server.CreateInstanceDiskResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.CreateDisk(r.Actor, q.LinodeID, world.DiskSpec{
		Label: value(q.Body.Label), Filesystem: string(value(q.Body.Filesystem)), Image: value(q.Body.Image), SizeMB: q.Body.Size,
		Access: q.Body.RootPass != nil || len(value(q.Body.AuthorizedKeys)) > 0 || len(value(q.Body.AuthorizedUsers)) > 0,
	})
	if err != nil {
		return nil, err
	}
	return server.CreateInstanceDisk200JSONResponse{Body: disk(found)}, nil
}

// DeleteInstanceDisk answers DELETE /linode/instances/{linodeId}/disks/{diskId}.
func (Server) DeleteInstanceDisk(ctx context.Context, q server.DeleteInstanceDiskRequestObject) (server.DeleteInstanceDiskResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteDisk(r.Actor, q.LinodeID, q.DiskID)
	return server.DeleteInstanceDisk200JSONResponse{Body: api.Empty{}}, err
}

func disk(d world.LinodeDisk) api.InstanceDisk {
	encryption := api.DiskEncryption(d.Encryption)
	return api.InstanceDisk{
		ID: d.ID, Label: d.Label, Status: api.InstanceDiskStatus(d.Status), Filesystem: api.InstanceDiskFilesystem(d.Filesystem), Size: d.SizeMB,
		DiskEncryption: &encryption, Created: api.Time{Time: d.Created}, Updated: api.Time{Time: d.Updated},
	}
}
