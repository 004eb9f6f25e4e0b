package controlplane

import (
	"os"
	"strings"
)

// Patterns in the output of `go build` whose meaning is worth more than the
// line itself, most telling first.
var causes = []struct{ pattern, says string }{
	{"no space left on device", "the disk is full (the Go build cache or the output folder)"},
	{"disk quota exceeded", "the disk quota is used up"},
	{"no such host", "the Go module proxy cannot be reached"},
	{"connection refused", "the Go module proxy cannot be reached"},
	{"network is unreachable", "the Go module proxy cannot be reached"},
	{"i/o timeout", "the Go module proxy does not answer"},
	{"permission denied", "permission denied"},
}

// cause returns in one line why a build failed: from its log where that has
// something, else from how the command ended.
func cause(logFile string, err error) string {
	content, readErr := os.ReadFile(logFile)
	if readErr != nil {
		return err.Error()
	}
	text := string(content)
	for _, c := range causes {
		if strings.Contains(text, c.pattern) {
			return c.says
		}
	}
	// The go command's own complaints start with "go: "; a compiler's with the
	// position in a file. Lines without a space are names of packages (-v).
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[1:] {
		if strings.Contains(line, " ") && !strings.HasPrefix(line, "go: downloading") && !strings.HasPrefix(line, "#") {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}
