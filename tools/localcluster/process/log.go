package process

import (
	"io"
	"os"
	"strings"
)

const (
	tailBytes  = 16 << 10
	tailLength = 300 // characters of the quoted line
)

// lastWords returns the line at the end of the log that explains best why the
// program ended: the last line about an error, else the last line.
func lastWords(logFile string) string {
	lines := strings.Split(strings.TrimSpace(tail(logFile)), "\n")
	said := lines[len(lines)-1]
	for i := len(lines) - 1; i >= 0; i-- {
		if tellsError(lines[i]) {
			said = lines[i]
			break
		}
	}
	said = strings.TrimSpace(said)
	if len(said) > tailLength {
		said = said[:tailLength] + "..."
	}
	return said
}

func tellsError(line string) bool {
	lower := strings.ToLower(line)
	for _, word := range []string{"address already in use", "error", "fatal", "panic:", "failed", "refused"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// PortTaken reports whether the program ended because a port was in use.
func (p *Process) PortTaken() bool {
	return !p.Running() && strings.Contains(tail(p.spec.LogFile), "address already in use")
}

func tail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(content)
}
