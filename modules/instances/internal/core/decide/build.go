package decide

import (
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// builder makes the data disks of instances, and boots them.
type builder struct {
	*turn
	tags *tagger
}

// needs lists the parts that an instance lacks.
type needs struct{ building, late bool }

// needs reports whether an instance is to be built up, and whether it is too late for
// that.
func (b *builder) needs(order *event.Order, n *known.Node) needs {
	unfinished := b.known.World.Unfinished(n)
	return needs{
		building: unfinished || len(order.Data) > 0 && !n.Build.Ran,
		late:     unfinished && !n.Build.Ran && b.now().Sub(n.First) > b.known.Settings.FinishTimeout,
	}
}

// awaitDisk reads only the disk that is being made: listing the disks of 100
// instances every ten seconds would take three times the limit of lists.
func (b *builder) awaitDisk(n *known.Node) event.Step {
	if b.now().Before(n.Build.Since) {
		return event.Wait(n.Build.Since)
	}
	return b.do(event.Effect{Op: event.OpDisk, ID: n.InstanceID, DiskID: n.Build.Making, Reason: "whether the disk is ready"})
}

// next returns the next step of an instance with data disks: one disk after
// another, their devices, the boot, and the removal of the unfinished tag.
func (b *builder) next(order *event.Order, n *known.Node) event.Step {
	build := &n.Build
	if build.Ran {
		return b.unmark(n)
	}
	if n.Status != "offline" {
		return event.Wait(build.Poll(b.now()))
	}
	if !build.HasDisks {
		return b.do(event.Effect{Op: event.OpDisks, ID: n.InstanceID, Reason: "which disks it has"})
	}
	ids := map[string]int{}
	for _, disk := range build.Disks {
		if !disk.Ready {
			build.Await(disk, b.now())
			return b.awaitDisk(n)
		}
		ids[disk.Label] = disk.ID
	}
	for _, label := range order.Data {
		switch until := b.known.World.Comes(n, label); {
		case ids[label] != 0:
		case build.Added[label]:
			return event.Wait(build.Poll(b.now()))
		case build.Listed.Before(until):
			return event.Wait(build.Later(b.now(), until))
		default:
			return b.do(event.Effect{Op: event.OpAddDisk, ID: n.InstanceID, Disk: label, Reason: "a disk is missing"})
		}
	}
	return b.boot(order, n, ids)
}

// unmark ends the mark of an instance that runs.
func (b *builder) unmark(n *known.Node) event.Step {
	if tags := b.known.Tags.Finished(n.Tags); len(tags) < len(n.Tags) {
		return b.tags.write(n, tags, "it is finished")
	}
	n.Build.Unmark() // a user removed the tag
	return event.End(event.Answer{Instance: b.known.World.View(n)})
}

func (b *builder) boot(order *event.Order, n *known.Node, ids map[string]int) event.Step {
	build := &n.Build
	if !build.HasConfigs {
		return b.do(event.Effect{Op: event.OpConfigs, ID: n.InstanceID, Reason: "which configuration it has"})
	}
	if len(build.Configs) == 0 {
		return event.Wait(build.Poll(b.now()))
	}
	config := build.Configs[0]
	if devices := withDisks(config.Devices, order.Data, ids); !maps.Equal(devices, config.Devices) {
		return b.do(event.Effect{
			Op: event.OpAttach, ID: n.InstanceID, Config: config.ID, Devices: devices, Reason: "disks are not attached",
		})
	}
	return b.do(event.Effect{Op: event.OpBoot, ID: n.InstanceID, Config: config.ID, Reason: "everything is there"})
}

// withDisks adds the data disks to the devices, in their order, at the first
// free names. Attached disks stay where they are.
func withDisks(devices map[string]int, data []string, ids map[string]int) map[string]int {
	all := maps.Clone(devices)
	if all == nil {
		all = map[string]int{}
	}
	attached := slices.Collect(maps.Values(devices))
	name := byte('a')
	for _, label := range data {
		id := ids[label]
		if slices.Contains(attached, id) {
			continue
		}
		for all["sd"+string(name)] != 0 {
			name++
		}
		all["sd"+string(name)] = id
	}
	return all
}
