package instances

import (
	"maps"
	"slices"
	"time"
)

// building records the progress of an instance with data disks. It is read from the
// API, so that another process continues where one ended.
type building struct {
	disks   []DiskState
	configs []ConfigState
	// hasDisks and hasConfigs report whether the lists above were read. Later writes
	// are added to them.
	hasDisks, hasConfigs bool
	// making is the ID of the disk that is not ready yet, 0 for none.
	making int
	// added contains the disks that this process made; lists may not show them yet.
	added             map[string]bool
	booted, abandoned bool
	// since delays the next step: nothing is done before it, and only readings begun
	// at or after it count.
	since time.Time
	polls int
}

// learn applies the result of a step.
func (b *building) learn(r result, now time.Time) {
	switch r.op {
	case opDisks:
		b.disks, b.hasDisks = r.disks, true
	case opConfigs:
		b.configs, b.hasConfigs = r.configs, true
	case opDisk:
		b.observe(r.disks[0], now)
	case opAddDisk:
		if b.added == nil {
			b.added = map[string]bool{}
		}
		b.added[r.disk.Label] = true
		b.disks = append(b.disks, r.disks...)
		b.making, b.polls, b.since = r.disks[0].ID, 1, now.Add(firstPoll)
	case opAttach:
		for n := range b.configs {
			if b.configs[n].ID == r.config {
				b.configs[n].Devices = r.devices
			}
		}
	case opBoot:
		b.booted = true
	}
}

// invalidate drops what was read: a step failed, and may have had an effect that
// readings show only later.
func (b *building) invalidate(until time.Time) {
	b.hasDisks, b.hasConfigs, b.making, b.since = false, false, 0, until
}

// observe applies a reading of the disk that is being made.
func (b *building) observe(disk DiskState, now time.Time) {
	if !disk.Ready {
		b.since = now.Add(growing(firstPoll, longestPoll, b.polls))
		b.polls++
		return
	}
	for n := range b.disks {
		if b.disks[n].ID == disk.ID {
			b.disks[n] = disk
		}
	}
	b.making, b.polls = 0, 0
}

// made returns the label of the disk that is being made, "" for none.
func (b *building) made() string {
	for _, disk := range b.disks {
		if disk.ID == b.making {
			return disk.Label
		}
	}
	return ""
}

// poll waits before the next reading.
func (b *building) poll(now time.Time) step {
	b.since = now.Add(growing(firstPoll, longestPoll, b.polls))
	b.polls++
	b.hasDisks, b.hasConfigs = false, false
	return wait(b.since)
}

// awaitDisk reads only the disk that is being made: listing the disks of 100
// instances every ten seconds would take three times the limit of lists.
func (c *core) awaitDisk(o *object) step {
	if c.now.Before(o.build.since) {
		return wait(o.build.since)
	}
	return c.do(effect{op: opDisk, id: o.InstanceID, diskID: o.build.making, reason: "whether the disk is ready"})
}

// buildUp returns the next step of an instance with data disks: one disk after
// another, their devices, the boot, and the removal of the unfinished tag.
func (c *core) buildUp(o *object, data []Disk) step {
	b := &o.build
	if b.booted || stateOf(o.Status) == up && o.Status != "provisioning" && o.Status != "busy" {
		tags := c.cfg.own.finished(o.Tags)
		return c.do(effect{op: opTag, id: o.InstanceID, tags: tags, reason: "it is finished"})
	}
	if o.Status != "offline" {
		return b.poll(c.now)
	}
	if !b.hasDisks {
		return c.do(effect{op: opDisks, id: o.InstanceID, reason: "which disks it has"})
	}
	ids := map[string]int{}
	for _, disk := range b.disks {
		if !disk.Ready {
			b.making, b.polls = disk.ID, 0
			b.observe(disk, c.now)
			return c.awaitDisk(o)
		}
		ids[disk.Label] = disk.ID
	}
	for _, disk := range data {
		switch {
		case ids[disk.Label] != 0:
		case b.added[disk.Label]:
			return b.poll(c.now)
		default:
			return c.do(effect{op: opAddDisk, id: o.InstanceID, disk: disk, reason: "a disk is missing"})
		}
	}
	return c.boot(o, data, ids)
}

func (c *core) boot(o *object, data []Disk, ids map[string]int) step {
	b := &o.build
	if !b.hasConfigs {
		return c.do(effect{op: opConfigs, id: o.InstanceID, reason: "which configuration it has"})
	}
	if len(b.configs) == 0 {
		return b.poll(c.now)
	}
	config := b.configs[0]
	if devices := withDisks(config.Devices, data, ids); !maps.Equal(devices, config.Devices) {
		return c.do(effect{op: opAttach, id: o.InstanceID, config: config.ID, devices: devices, reason: "disks are not attached"})
	}
	return c.do(effect{op: opBoot, id: o.InstanceID, config: config.ID, reason: "everything is there"})
}

// withDisks adds the data disks to the devices, in their order, at the first
// free names. Those that are attached stay where they are.
func withDisks(devices map[string]int, data []Disk, ids map[string]int) map[string]int {
	all := maps.Clone(devices)
	if all == nil {
		all = map[string]int{}
	}
	attached := slices.Collect(maps.Values(devices))
	name := byte('a')
	for _, disk := range data {
		id := ids[disk.Label]
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
