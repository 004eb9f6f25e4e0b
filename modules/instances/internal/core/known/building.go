package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Building records the progress of an instance with data disks. It is read from the API, so that another process continues where one
// ended.
type Building struct {
	disks   []event.DiskState
	configs []event.ConfigState
	// hasDisks and hasConfigs report whether the lists above were read. Later writes are added to them.
	hasDisks, hasConfigs bool
	// listed is when the latest list of disks began.
	listed time.Time
	// making is the ID of the disk that is not ready yet, 0 for none.
	making int
	// added contains the disks that this process made; lists may not show them yet.
	added map[string]bool
	// marked records the tag of unfinished instances, which a user may remove. ran: the instance was started. abandoned: it was not
	// finished in time.
	marked, ran, abandoned bool
	// since delays the next step: no step is done before since, and only readings that begin at since or later count.
	since time.Time
	polls int
}

// Ran reports whether the instance was started, Abandoned whether it was not finished in time.
func (b *Building) Ran() bool       { return b.ran }
func (b *Building) Abandoned() bool { return b.abandoned }

// Since is when the next step may be done, and the earliest beginning of a reading that it may follow.
func (b *Building) Since() time.Time { return b.since }

// Disks returns the disks, false if they have to be listed first, and Listed when the latest list of them began.
func (b *Building) Disks() ([]event.DiskState, bool) { return slices.Clone(b.disks), b.hasDisks }
func (b *Building) Listed() time.Time                { return b.listed }

// Configs returns the configurations, false if they have to be listed first.
func (b *Building) Configs() ([]event.ConfigState, bool) {
	return slices.Clone(b.configs), b.hasConfigs
}

// Added reports whether this process made a disk with the label.
func (b *Building) Added(label string) bool { return b.added[label] }

// Making returns the ID and the label of the disk that is being made, 0 for none.
func (b *Building) Making() (id int, label string) {
	for _, disk := range b.disks {
		if disk.ID == b.making {
			label = disk.Label
		}
	}
	return b.making, label
}

// NextPoll returns when the disks and configurations are read again: see [Polls].
func (b *Building) NextPoll(now time.Time) time.Time {
	return now.Add(tuning.Growing(tuning.FirstPoll, tuning.LongestPoll, b.polls))
}

// NextList returns when the disks are listed again: see [ListsLater]. A list at until or later is conclusive.
func NextList(now, until time.Time) time.Time {
	if next := now.Add(tuning.DiskPoll); !now.Before(until) || !until.Before(next) {
		return next
	}
	return until
}

// learn applies the result of a step.
func (b *Building) learn(r *event.Result, now time.Time) {
	switch r.Op {
	case event.OpDisks:
		b.disks, b.hasDisks, b.listed = r.Disks, true, r.Began
	case event.OpConfigs:
		b.configs, b.hasConfigs = r.Configs, true
	case event.OpDisk:
		b.observe(r.Disks[0], now)
	case event.OpAddDisk:
		if b.added == nil {
			b.added = map[string]bool{}
		}
		b.added[r.Disk] = true
		b.disks = append(b.disks, r.Disks...)
		b.making, b.polls, b.since = r.Disks[0].ID, 1, now.Add(tuning.FirstPoll)
	case event.OpAttach:
		for n := range b.configs {
			if b.configs[n].ID == r.Config {
				b.configs[n].Devices = r.Devices
			}
		}
	case event.OpBoot:
		b.ran = true
	}
}

// invalidate drops the lists that were read, because a disk that was being made does not exist.
func (b *Building) invalidate(now time.Time) {
	b.hasDisks, b.hasConfigs, b.making, b.since = false, false, 0, now
}

// doubt drops the list that an unanswered write may have changed, and delays the next step until readings show the effect. A reading of
// the instance itself shows whether a boot had its effect.
func (b *Building) doubt(o event.Op, until time.Time) {
	b.since = until
	switch o {
	case event.OpAddDisk:
		b.hasDisks, b.making = false, 0
	case event.OpAttach:
		b.hasConfigs = false
	}
}

// observe applies a reading of the disk that is being made.
func (b *Building) observe(disk event.DiskState, now time.Time) {
	if !disk.Ready {
		b.since = b.NextPoll(now)
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
