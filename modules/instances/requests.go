package instances

import (
	"context"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// requests translates effects of the engine into calls of a Backend.
type requests struct {
	backend Backend
	own     core.Tags
}

// send makes the request of an effect. creation is the request of the call that decided the
// effect: it has the instance of OpCreate, and the disk of OpAddDisk.
func (q requests) send(ctx context.Context, r *core.Result, creation Creation) {
	e := r.Effect
	switch e.Op {
	case core.OpList:
		r.Instances, r.Err = all(q.backend.Tagged(ctx, e.Text))
	case core.OpFind:
		r.Instances, r.Err = all(q.backend.Find(ctx, e.Text, q.own.NameTag(e.Who)))
	case core.OpRead:
		r.Instance, r.Err = one(q.backend.Instance(ctx, e.ID))
	case core.OpCreate:
		r.Instance, r.Err = one(q.backend.Create(ctx, creation))
	case core.OpDelete:
		r.Err = q.backend.Delete(ctx, e.ID)
	case core.OpTag:
		r.Instance, r.Err = one(q.backend.Tag(ctx, e.ID, e.Tags))
	default:
		q.sendOfParts(ctx, r, creation)
	}
}

// sendOfParts makes the requests about the disks and configurations of an instance.
func (q requests) sendOfParts(ctx context.Context, r *core.Result, creation Creation) {
	e := r.Effect
	switch e.Op {
	case core.OpDisks:
		var disks []DiskState
		disks, r.Err = q.backend.Disks(ctx, e.ID)
		r.Disks = disksOf(disks...)
	case core.OpDisk:
		var disk DiskState
		disk, r.Err = q.backend.Disk(ctx, e.ID, e.DiskID)
		r.Disks = disksOf(disk)
	case core.OpConfigs:
		var configs []ConfigState
		configs, r.Err = q.backend.Configs(ctx, e.ID)
		for _, config := range configs {
			r.Configs = append(r.Configs, core.ConfigState(config))
		}
	case core.OpAddDisk:
		data := creation.Storage.Data
		at := slices.IndexFunc(data, func(disk Disk) bool { return disk.Label == e.Disk })
		var disk DiskState
		disk, r.Err = q.backend.AddDisk(ctx, e.ID, data[at])
		r.Disks = disksOf(disk)
	case core.OpAttach:
		r.Err = q.backend.Attach(ctx, e.ID, e.Config, e.Devices)
	case core.OpBoot:
		r.Err = q.backend.Boot(ctx, e.ID, e.Config)
	}
}

func one(i Instance, err error) (core.Instance, error) { return core.Instance(i), err }

func all(instances []Instance, err error) ([]core.Instance, error) {
	var converted []core.Instance
	for _, i := range instances {
		converted = append(converted, core.Instance(i))
	}
	return converted, err
}

func disksOf(disks ...DiskState) []core.DiskState {
	var converted []core.DiskState
	for _, disk := range disks {
		converted = append(converted, core.DiskState(disk))
	}
	return converted
}
