// Command crdtext joins the lines of each description in a CustomResourceDefinition, from stdin to stdout: controller-gen keeps the
// line breaks of Go comments, and kubectl explain wraps such a text a second time. Paragraphs and items of lists stay apart.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	if err := join(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crdtext:", err)
		os.Exit(1)
	}
}

var block = regexp.MustCompile(`^( *)(?:- )?description: \|-?$`)

func join(r io.Reader, w io.Writer) error {
	out := bufio.NewWriter(w)
	var text []string // of the description that is being read
	inside := -1      // the indentation of its key; -1 = none is being read
	flush := func() {
		for _, line := range paragraphs(text) {
			if line != "" {
				line = strings.Repeat(" ", inside+2) + line
			}
			fmt.Fprintln(out, line)
		}
		text, inside = nil, -1
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if inside >= 0 {
			if trimmed := strings.TrimSpace(line); trimmed == "" || len(line)-len(strings.TrimLeft(line, " ")) > inside {
				text = append(text, trimmed)
				continue
			}
			flush()
		}
		fmt.Fprintln(out, line)
		if m := block.FindStringSubmatch(line); m != nil {
			inside = len(m[1])
		}
	}
	if inside >= 0 {
		flush()
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Flush()
}

// paragraphs joins lines up to an empty line or an item of a list.
func paragraphs(lines []string) (joined []string) {
	for i, line := range lines {
		last := len(joined) - 1
		if i == 0 || line == "" || lines[i-1] == "" || strings.HasPrefix(line, "- ") {
			joined = append(joined, line)
		} else {
			joined[last] += " " + line
		}
	}
	return joined
}
