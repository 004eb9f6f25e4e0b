package scale

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// usage has the resources that a process has used so far.
type usage struct {
	cpu          time.Duration
	rss, peakRSS int // bytes
}

// usageOf reads what the kernel reports about a process.
func usageOf(pid int) (usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, fmt.Errorf("the program's process: %w", err)
	}
	stat, err := process.Stat()
	if err != nil {
		return usage{}, fmt.Errorf("the program's use of the processor: %w", err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return usage{}, fmt.Errorf("the program's memory: %w", err)
	}
	now, most := int(status.VmRSS), int(status.VmHWM) //nolint:gosec // of memory that is there
	return usage{time.Duration(stat.CPUTime() * float64(time.Second)), now, most}, nil
}

// idle has the seconds since the machine's start in which its processors were idle, and the seconds in all, summed over the processors.
type idle struct{ idle, all float64 }

// since is the idle share of the time since an earlier reading.
func (i idle) since(earlier idle) float64 {
	if i.all == earlier.all {
		return 0
	}
	return (i.idle - earlier.idle) / (i.all - earlier.all)
}

// machineIdle reads the idle time of the whole machine, other programs included, because figures of a busy machine depend on chance.
func machineIdle() (idle, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return idle{}, fmt.Errorf("the machine's use of its processors: %w", err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return idle{}, fmt.Errorf("the machine's use of its processors: %w", err)
	}
	return idleOf(stat.CPUTotal), nil
}

// idleOf sums the kernel's counters. Time that waits for a disk counts as idle. Guest times are not added, because User and Nice include
// them.
func idleOf(c procfs.CPUStat) idle {
	return idle{c.Idle + c.Iowait, c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal}
}
