package instances

import (
	"maps"
	"slices"
	"time"
)

// building is how far an instance with data disks is. It is read from the API,
// so that another process continues where one ended.
type building struct {
	disks   []DiskState
	configs []ConfigState
	// hasDisks and hasConfigs: the lists above are known, and nothing was
	// written since.
	hasDisks, hasConfigs bool
	// added has the disks that this process made, which no list may show yet.
	added             map[string]bool
	booted, abandoned bool
	// since is before when nothing is done, and from when on a reading counts.
	since time.Time
	polls int
}

// learn takes over what a step has read or done.
func (b *building) learn(r result, now time.Time) {
	switch r.op {
	case opDisks:
		b.disks, b.hasDisks = r.disks, true
	case opConfigs:
		b.configs, b.hasConfigs = r.configs, true
	case opAddDisk:
		b.hasDisks, b.polls, b.since = false, 0, now.Add(firstPoll)
		if b.added == nil {
			b.added = map[string]bool{}
		}
		b.added[r.disk.Label] = true
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

// doubt forgets what was read: a step failed, and may have had an effect that
// readings show only later.
func (b *building) doubt(until time.Time) { b.hasDisks, b.hasConfigs, b.since = false, false, until }

// poll waits before the next look.
func (b *building) poll(now time.Time) step {
	b.since = now.Add(growing(firstPoll, longestPoll, b.polls))
	b.polls++
	b.hasDisks, b.hasConfigs = false, false
	return wait(b.since)
}

// buildUp is the next step of an instance with data disks: disks one after
// another, their devices, the boot, and the end of being unfinished.
func (c *core) buildUp(o *object, data []Disk) step {
	b := &o.build
	if b.booted || stateOf(o.Status) == up && o.Status != "provisioning" && o.Status != "busy" {
		tags := slices.DeleteFunc(slices.Clone(o.Tags), func(tag string) bool { return tag == unfinishedTag })
		return c.do(effect{op: opTag, id: o.ID, tags: tags, reason: "it is finished"})
	}
	if o.Status != "offline" {
		return b.poll(c.now)
	}
	if !b.hasDisks {
		return c.do(effect{op: opDisks, id: o.ID, reason: "which disks it has"})
	}
	ids := map[string]int{}
	for _, disk := range b.disks {
		if !disk.Ready {
			return b.poll(c.now)
		}
		ids[disk.Label] = disk.ID
	}
	for _, disk := range data {
		switch {
		case ids[disk.Label] != 0:
		case b.added[disk.Label]:
			return b.poll(c.now)
		default:
			return c.do(effect{op: opAddDisk, id: o.ID, disk: disk, reason: "a disk is missing"})
		}
	}
	return c.boot(o, data, ids)
}

func (c *core) boot(o *object, data []Disk, ids map[string]int) step {
	b := &o.build
	if !b.hasConfigs {
		return c.do(effect{op: opConfigs, id: o.ID, reason: "which configuration it has"})
	}
	if len(b.configs) == 0 {
		return b.poll(c.now)
	}
	config := b.configs[0]
	if devices := withDisks(config.Devices, data, ids); !maps.Equal(devices, config.Devices) {
		return c.do(effect{op: opAttach, id: o.ID, config: config.ID, devices: devices, reason: "disks are not attached"})
	}
	return c.do(effect{op: opBoot, id: o.ID, config: config.ID, reason: "everything is there"})
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
