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
