package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Building records the progress of an instance with data disks. It is read from the
// API, so that another process continues where one ended.
type Building struct {
	Disks   []event.DiskState
	Configs []event.ConfigState
	// HasDisks and HasConfigs report whether the lists above were read. Later writes
	// are added to them.
	HasDisks, HasConfigs bool
	// Listed is when the latest list of disks began.
	Listed time.Time
	// Making is the ID of the disk that is not ready yet, 0 for none.
	Making int
	// Added contains the disks that this process made; lists may not show them yet.
	Added map[string]bool
	// Marked records the tag of unfinished instances, which a user may remove. Ran
	// reports that the instance was started, Abandoned that it was not finished in time.
	Marked, Ran, Abandoned bool
	// Since delays the next step: nothing is done before it, and only readings begun
	// at or after it count.
	Since time.Time
	polls int
}

// learn applies the result of a step.
func (b *Building) learn(r *event.Result, now time.Time) {
	switch r.Op {
	case event.OpDisks:
		b.Disks, b.HasDisks, b.Listed = r.Disks, true, r.Began
	case event.OpConfigs:
		b.Configs, b.HasConfigs = r.Configs, true
	case event.OpDisk:
		b.observe(r.Disks[0], now)
	case event.OpAddDisk:
		if b.Added == nil {
			b.Added = map[string]bool{}
		}
		b.Added[r.Disk] = true
		b.Disks = append(b.Disks, r.Disks...)
		b.Making, b.polls, b.Since = r.Disks[0].ID, 1, now.Add(tuning.FirstPoll)
	case event.OpAttach:
		for n := range b.Configs {
			if b.Configs[n].ID == r.Config {
				b.Configs[n].Devices = r.Devices
			}
		}
	case event.OpBoot:
		b.Ran = true
	}
}

// invalidate drops what was read: a disk that was being made does not exist.
func (b *Building) invalidate(now time.Time) {
	b.HasDisks, b.HasConfigs, b.Making, b.Since = false, false, 0, now
}

// doubt drops what a write may have changed that was not answered, and nothing else:
// readings show its effect only later. Whether a boot had one, the instance itself shows.
func (b *Building) doubt(o event.Op, until time.Time) {
	b.Since = until
	switch o {
	case event.OpAddDisk:
		b.HasDisks, b.Making = false, 0
	case event.OpAttach:
		b.HasConfigs = false
	}
}

// observe applies a reading of the disk that is being made.
func (b *Building) observe(disk event.DiskState, now time.Time) {
	if !disk.Ready {
		b.Since = now.Add(tuning.Growing(tuning.FirstPoll, tuning.LongestPoll, b.polls))
		b.polls++
		return
	}
	for n := range b.Disks {
		if b.Disks[n].ID == disk.ID {
			b.Disks[n] = disk
		}
	}
	b.Making, b.polls = 0, 0
}

// Made returns the label of the disk that is being made, "" for none.
func (b *Building) Made() string {
	for _, disk := range b.Disks {
		if disk.ID == b.Making {
			return disk.Label
		}
	}
	return ""
}

// Await notes a disk that is not ready, which is read alone from now on.
func (b *Building) Await(disk event.DiskState, now time.Time) {
	b.Making, b.polls = disk.ID, 0
	b.observe(disk, now)
}

// Poll drops what was read, and returns when it is read again, at growing intervals.
func (b *Building) Poll(now time.Time) time.Time {
	b.Since = now.Add(tuning.Growing(tuning.FirstPoll, tuning.LongestPoll, b.polls))
	b.polls++
	b.HasDisks, b.HasConfigs = false, false
	return b.Since
}

// Later drops what was read, and returns when the disks are listed again; at until that
// is conclusive.
func (b *Building) Later(now, until time.Time) time.Time {
	b.HasDisks, b.HasConfigs = false, false
	if b.Since = now.Add(tuning.DiskPoll); now.Before(until) && until.Before(b.Since) {
		b.Since = until
	}
	return b.Since
}

// Abandon notes that the instance was not finished in time.
func (b *Building) Abandon() { b.Abandoned = true }

// Unmark notes that an instance that runs has no mark any more.
func (b *Building) Unmark() { b.Marked = false }
