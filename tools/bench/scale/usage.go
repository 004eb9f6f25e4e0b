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

// idle is how long the machine's processors have been idle, and how long they have been there, in seconds.
type idle struct{ idle, all float64 }

// since is the share of the time since an earlier reading.
func (i idle) since(earlier idle) float64 {
	if i.all == earlier.all {
		return 0
	}
	return (i.idle - earlier.idle) / (i.all - earlier.all)
}

// machineIdle reads how busy the machine is, with other programs too: the ratios of a busy machine depend on chance.
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

// idleOf adds up: what waits for a disk is idle, and guests are part of the first two figures.
func idleOf(c procfs.CPUStat) idle {
	return idle{c.Idle + c.Iowait, c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal}
}
