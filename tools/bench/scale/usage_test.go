package scale

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// As proc_pid_stat(5) and proc_pid_status(5) have it; the name is a nasty one.
const (
	statLine   = "4711 (a ) S 1) S 1 4711 4711 0 -1 4194304 25000 0 12 0 1234 66 7 8 20 0 14 0 900000 1400000000 60000 18446744073709551615\n"
	statusText = "Name:\tcontroller\nVmPeak:\t 1400000 kB\nVmHWM:\t  307200 kB\nVmRSS:\t  250000 kB\n"
)

func TestUsageOf(t *testing.T) {
	for name, test := range map[string]struct {
		stat, status string
		want         usage
		says         string // in the error; "" = none
	}{
		"a process":              {statLine, statusText, usage{cpu: 13 * time.Second, rss: 250000 << 10, peakRSS: 300 << 20}, ""},
		"no name":                {"4711 S 1", statusText, usage{}, "stat"},
		"a line that breaks off": {"4711 (controller) S 1 4711", statusText, usage{}, "stat"},
		"not a number":           {strings.Replace(statLine, "1234", "many", 1), statusText, usage{}, "field 14"},
		"no memory":              {statLine, "Name:\tkthreadd\n", usage{}, "there is no Vm"},
		"memory not a number":    {statLine, "VmRSS:\t 1 kB\nVmHWM:\t much kB\n", usage{}, "VmHWM"},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			write(t, filepath.Join(proc, "4711", "stat"), test.stat)
			write(t, filepath.Join(proc, "4711", "status"), test.status)
			got, err := usageOf(proc, 4711)
			if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %+v, %v; want %+v, an error with %q", got, err, test.want, test.says)
			}
		})
	}
	if _, err := usageOf(t.TempDir(), 1); err == nil {
		t.Error("a process that is not there has used something")
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The kernel's own files are what is parsed.
func TestUsageOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there is nothing to read
	}
	got, err := usageOf("/proc", os.Getpid())
	if err != nil || got.peakRSS < 1<<20 || got.peakRSS > 1<<40 || got.cpu < 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What waits for a disk is idle, and guests count once.
func TestIdleOfTheMachine(t *testing.T) {
	const before = "cpu  100 10 50 800 40 0 0 0 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
	const after = "cpu  200 10 50 1000 140 0 0 0 57 0\n"
	first, err := parseIdle(before)
	if err != nil || first != (idle{idle: 840, all: 1000}) {
		t.Fatalf("got %+v, %v", first, err)
	}
	second, err := parseIdle(after)
	if share := second.since(first); err != nil || share != 0.75 {
		t.Errorf("idle for %v of the time, %v", share, err)
	}
	for _, bad := range []string{"", "cpu 1 2 3\n", "cpu  a 10 50 800 40 0 0 0 0 0\n", "intr 1 2 3 4 5 6 7 8 9\n"} {
		if _, err := parseIdle(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		n, parts int
		want     []int
	}{{30, 3, []int{10, 10, 10}}, {11, 3, []int{4, 4, 3}}, {1, 1, []int{1}}} {
		got := spread(test.n, test.parts)
		total := 0
		for i := range got {
			total += got[i]
			if got[i] != test.want[i] {
				t.Errorf("%d in %d parts: %v, want %v", test.n, test.parts, got, test.want)
				break
			}
		}
		if total != test.n {
			t.Errorf("%d in %d parts are %d", test.n, test.parts, total)
		}
	}
}
