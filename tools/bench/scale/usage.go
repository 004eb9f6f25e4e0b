package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: USER_HZ is 100 on every architecture that Go runs on.
const tick = 10 * time.Millisecond

// usage is what a process has used so far.
type usage struct {
	cpu          time.Duration
	rss, peakRSS int // bytes
}

// usageOf reads what the kernel reports about a process; proc is where its files are,
// /proc in earnest.
func usageOf(proc string, pid int) (usage, error) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return usage{}, fmt.Errorf("the program's use of the processor: %w", err)
	}
	cpu, err := parseStat(string(stat))
	if err != nil {
		return usage{}, fmt.Errorf("the program's use of the processor: %w", err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return usage{}, fmt.Errorf("the program's memory: %w", err)
	}
	u := usage{cpu: cpu}
	for name, value := range map[string]*int{"VmRSS": &u.rss, "VmHWM": &u.peakRSS} {
		if *value, err = parseStatus(string(status), name); err != nil {
			return usage{}, fmt.Errorf("the program's memory: %w", err)
		}
	}
	return u, nil
}

// parseStat adds up user and system time, fields 14 and 15 of proc_pid_stat(5). The
// second field is the program's name in parentheses, which may hold anything.
func parseStat(line string) (time.Duration, error) {
	const utime, stime, afterName = 14, 15, 3
	end := strings.LastIndexByte(line, ')')
	fields := strings.Fields(line[end+1:])
	if end < 0 || len(fields) <= stime-afterName {
		return 0, fmt.Errorf("stat: want at least %d fields, found %q", stime, line)
	}
	var ticks int64
	for _, field := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[field-afterName], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat: field %d: %w", field, err)
		}
		ticks += n
	}
	return time.Duration(ticks * int64(tick)), nil
}

// parseStatus finds a line such as "VmHWM:   123456 kB", where kB is 1024 bytes.
func parseStatus(status, name string) (int, error) {
	for line := range strings.Lines(status) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name+":" && fields[2] == "kB" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				return 0, fmt.Errorf("status: %s: %w", name, err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("status: there is no %s in %q", name, status)
}

// idle is how long the machine's processors have been idle, and how long they have been there, in ticks.
type idle struct{ idle, all int }

// since is the share of the time since an earlier reading.
func (i idle) since(earlier idle) float64 {
	return float64(i.idle-earlier.idle) / float64(max(i.all-earlier.all, 1))
}

// idleOf reads how busy the machine is, with other programs too: the ratios of a busy machine are those of chance.
func idleOf(proc string) (idle, error) {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return idle{}, fmt.Errorf("the machine's use of its processors: %w", err)
	}
	return parseIdle(string(stat))
}

// parseIdle adds up the first line of proc_stat(5), whose fourth and fifth figures are idle and waiting for a disk. The eighth is the
// last that counts: guests are part of the first two.
func parseIdle(stat string) (idle, error) {
	const first, waits, last = 3, 4, 8
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= last || fields[0] != "cpu" {
		return idle{}, fmt.Errorf("stat: want a line of all processors, found %q", line)
	}
	var i idle
	for at, field := range fields[1 : last+1] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return idle{}, fmt.Errorf("stat: field %d: %w", at+2, err)
		}
		i.all += ticks
		if at == first || at == waits {
			i.idle += ticks
		}
	}
	return i, nil
}
