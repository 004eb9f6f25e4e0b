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
	// listed is when the latest list of disks began.
	listed time.Time
	// making is the ID of the disk that is not ready yet, 0 for none.
	making int
	// added contains the disks that this process made; lists may not show them yet.
	added map[string]bool
	// marked records the tag of unfinished instances, which a user may remove. ran
	// reports that the instance was started.
	marked, ran, abandoned bool
	// since delays the next step: nothing is done before it, and only readings begun
	// at or after it count.
	since time.Time
	polls int
}

// learn applies the result of a step.
func (b *building) learn(r result, now time.Time) {
	switch r.op {
	case opDisks:
		b.disks, b.hasDisks, b.listed = r.disks, true, r.began
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
		b.ran = true
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
func (t *createTask) awaitDisk(c *core, o *object) step {
	if c.now.Before(o.build.since) {
		return wait(o.build.since)
	}
	return c.do(effect{op: opDisk, id: o.InstanceID, diskID: o.build.making, reason: "whether the disk is ready"})
}

// buildUp returns the next step of an instance with data disks: one disk after
// another, their devices, the boot, and the removal of the unfinished tag.
func (t *createTask) buildUp(c *core, o *object) step {
	b := &o.build
	if b.ran {
		if tags := c.cfg.own.finished(o.Tags); len(tags) < len(o.Tags) {
			return c.writeTags(o, tags, "it is finished")
		}
		b.marked = false // a user removed the tag
		return end(answer{instance: c.world.view(o)})
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
			return t.awaitDisk(c, o)
		}
		ids[disk.Label] = disk.ID
	}
	for _, disk := range t.creation.Storage.Data {
		switch until := c.world.comes(o, disk); {
		case ids[disk.Label] != 0:
		case b.added[disk.Label]:
			return b.poll(c.now)
		case b.listed.Before(until):
			return b.later(c.now, until)
		default:
			return c.do(effect{op: opAddDisk, id: o.InstanceID, disk: disk, reason: "a disk is missing"})
		}
	}
	return t.boot(c, o, ids)
}

// comes returns until when a disk may still be made by a request without an answer,
// which is not repeated before: a label of a disk is not unique.
func (w *world) comes(o *object, disk Disk) time.Time {
	if u := w.writes[o.InstanceID]; u != nil {
		return u.disks[disk.Label]
	}
	return time.Time{}
}

// later waits for the next list of the disks, which at until is conclusive.
func (b *building) later(now, until time.Time) step {
	b.hasDisks, b.hasConfigs = false, false
	if b.since = now.Add(diskPoll); now.Before(until) && until.Before(b.since) {
		b.since = until
	}
	return wait(b.since)
}

func (t *createTask) boot(c *core, o *object, ids map[string]int) step {
	b := &o.build
	if !b.hasConfigs {
		return c.do(effect{op: opConfigs, id: o.InstanceID, reason: "which configuration it has"})
	}
	if len(b.configs) == 0 {
		return b.poll(c.now)
	}
	config := b.configs[0]
	if devices := withDisks(config.Devices, t.creation.Storage.Data, ids); !maps.Equal(devices, config.Devices) {
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
