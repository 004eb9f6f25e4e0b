package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the hardware and Go version of a measurement, without names and
// locations.
type Machine struct {
	CPU      string // the processor's own name; "" if the system does not report it
	Cores    int    // that Go may use
	MemoryKB int    // 0 if the system does not report it
	System   string // operating system and architecture
	Go       string // the version that built the measurement
}

// ThisMachine describes the machine that this process runs on. Figures that only Linux
// reports are left out elsewhere.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer func() { _ = f.Close() }()
		m.CPU = valueOf(f, "model name")
	}
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer func() { _ = f.Close() }()
		m.MemoryKB = kilobytes(valueOf(f, "MemTotal"))
	}
	return m
}

// valueOf finds the first line "name: value".
func valueOf(r io.Reader, name string) string {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(before) == name {
			return strings.TrimSpace(after)
		}
	}
	return ""
}

// kilobytes reads "24683824 kB", where kB is 1024 bytes.
func kilobytes(text string) int {
	digits, _, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func (m Machine) String() string {
	cpu := m.CPU
	if cpu == "" {
		cpu = "unknown processor"
	}
	memory := "unknown memory"
	if m.MemoryKB > 0 {
		memory = fmt.Sprintf("%.1f GiB of memory", float64(m.MemoryKB)/(1<<20))
	}
	return fmt.Sprintf("%s, %d cores, %s, %s, %s", cpu, m.Cores, memory, m.System, m.Go)
}
