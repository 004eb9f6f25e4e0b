package decide

import (
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// needs reports whether an instance is to be built up (building), and whether the time for that is over (late).
type needs struct{ building, late bool }

// needs returns the needs of an instance: see the type.
func (t builder) needs(n *known.Node) needs {
	unfinished, ran := t.known.Unfinished(n), t.known.Build(n).Ran()
	return needs{
		building: unfinished || len(t.ask.Order.Data) > 0 && !ran,
		late:     unfinished && !ran && t.now().Sub(n.First()) > t.known.Settings().FinishTimeout,
	}
}

// awaitDisk reads only the disk that is being made: listing the disks of 100 instances every ten seconds would take three times the limit
// of lists.
func (t builder) awaitDisk(n *known.Node, disk int) event.Step {
	if since := t.known.Build(n).Since(); t.now().Before(since) {
		return event.Wait(since)
	}
	return t.do(event.Effect{Op: event.OpDisk, ID: n.ID(), DiskID: disk, Reason: "check the disk"})
}

// poll reads the instance and its parts again, at growing intervals.
func (t builder) poll(n *known.Node) event.Step {
	t.note(known.Polls(n.ID()))
	return event.Wait(t.known.Build(n).NextPoll(t.now()))
}

// build returns the next step of an instance with data disks: one disk after another, their devices, the boot, and the removal of the
// unfinished tag.
func (t builder) build(n *known.Node) event.Step {
	b := t.known.Build(n)
	if b.Ran() {
		return t.unmark(n)
	}
	if n.Value().Status != "offline" {
		return t.poll(n)
	}
	disks, listed := b.Disks()
	if !listed {
		return t.do(event.Effect{Op: event.OpDisks, ID: n.ID(), Reason: "list the disks"})
	}
	ids := map[string]int{}
	for _, disk := range disks {
		if !disk.Ready {
			t.note(known.Awaits(n.ID(), disk))
			return event.Step{}
		}
		ids[disk.Label] = disk.ID
	}
	for _, label := range t.ask.Order.Data {
		switch until := t.known.Comes(n, label); {
		case ids[label] != 0:
		case b.Added(label):
			return t.poll(n)
		case b.Listed().Before(until):
			t.note(known.ListsLater(n.ID(), until))
			return event.Wait(known.NextList(t.now(), until))
		default:
			return t.do(event.Effect{Op: event.OpAddDisk, ID: n.ID(), Disk: label, Reason: "a disk is missing"})
		}
	}
	return t.boot(n, ids)
}

// unmark removes the tag of unfinished instances from an instance that runs.
func (t builder) unmark(n *known.Node) event.Step {
	has := n.Value().Tags
	if tags := t.known.Tags().Finished(has); len(tags) < len(has) {
		return t.write(n, tags, "it is finished")
	}
	t.note(known.Unmarks(n.ID())) // a user removed the tag
	return event.Step{}
}

func (t builder) boot(n *known.Node, ids map[string]int) event.Step {
	configs, listed := t.known.Build(n).Configs()
	if !listed {
		return t.do(event.Effect{Op: event.OpConfigs, ID: n.ID(), Reason: "list the configurations"})
	}
	if len(configs) == 0 {
		return t.poll(n)
	}
	config := configs[0]
	if devices := withDisks(config.Devices, t.ask.Order.Data, ids); !maps.Equal(devices, config.Devices) {
		return t.do(event.Effect{Op: event.OpAttach, ID: n.ID(), Config: config.ID, Devices: devices, Reason: "disks are not attached"})
	}
	return t.do(event.Effect{Op: event.OpBoot, ID: n.ID(), Config: config.ID, Reason: "everything is there"})
}

// withDisks adds the data disks to the devices, in their order, at the first free names. Attached disks stay where they are.
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
