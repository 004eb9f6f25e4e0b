package instances

import (
	"context"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine"
)

// requests translates effects of the engine into calls of a Backend.
type requests struct {
	backend Backend
	own     engine.Tags
}

// send makes the request of an effect. A creation, and a disk, belong to the call in which
// they were decided.
func (q requests) send(ctx context.Context, r *engine.Result, creation Creation) {
	e := r.Effect
	switch e.Op {
	case engine.OpList:
		r.Instances, r.Err = all(q.backend.Tagged(ctx, e.Text))
	case engine.OpFind:
		r.Instances, r.Err = all(q.backend.Find(ctx, e.Text, q.own.NameTag(e.Who)))
	case engine.OpRead:
		r.Instance, r.Err = one(q.backend.Instance(ctx, e.ID))
	case engine.OpCreate:
		r.Instance, r.Err = one(q.backend.Create(ctx, creation))
	case engine.OpDelete:
		r.Err = q.backend.Delete(ctx, e.ID)
	case engine.OpTag:
		r.Instance, r.Err = one(q.backend.Tag(ctx, e.ID, e.Tags))
	default:
		q.sendOfParts(ctx, r, creation)
	}
}

// sendOfParts makes the requests about the disks and configurations of an instance.
func (q requests) sendOfParts(ctx context.Context, r *engine.Result, creation Creation) {
	e := r.Effect
	switch e.Op {
	case engine.OpDisks:
		var disks []DiskState
		disks, r.Err = q.backend.Disks(ctx, e.ID)
		r.Disks = disksOf(disks...)
	case engine.OpDisk:
		var disk DiskState
		disk, r.Err = q.backend.Disk(ctx, e.ID, e.DiskID)
		r.Disks = disksOf(disk)
	case engine.OpConfigs:
		var configs []ConfigState
		configs, r.Err = q.backend.Configs(ctx, e.ID)
		for _, config := range configs {
			r.Configs = append(r.Configs, engine.ConfigState(config))
		}
	case engine.OpAddDisk:
		data := creation.Storage.Data
		at := slices.IndexFunc(data, func(disk Disk) bool { return disk.Label == e.Disk })
		var disk DiskState
		disk, r.Err = q.backend.AddDisk(ctx, e.ID, data[at])
		r.Disks = disksOf(disk)
	case engine.OpAttach:
		r.Err = q.backend.Attach(ctx, e.ID, e.Config, e.Devices)
	case engine.OpBoot:
		r.Err = q.backend.Boot(ctx, e.ID, e.Config)
	}
}

func one(i Instance, err error) (engine.Instance, error) { return engine.Instance(i), err }

func all(instances []Instance, err error) ([]engine.Instance, error) {
	var converted []engine.Instance
	for _, i := range instances {
		converted = append(converted, engine.Instance(i))
	}
	return converted, err
}

func disksOf(disks ...DiskState) []engine.DiskState {
	var converted []engine.DiskState
	for _, disk := range disks {
		converted = append(converted, engine.DiskState(disk))
	}
	return converted
}
