package logfile_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/logfile"
)

func TestTheSelectedEndIsCopied(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		s    logfile.Selection
		want string
	}{
		"all":                     {"a\nb\nc\n", logfile.Selection{Lines: -1}, "a\nb\nc\n"},
		"two lines":               {"a\nb\nc\n", logfile.Selection{Lines: 2}, "b\nc\n"},
		"the last one unfinished": {"a\nb\nc", logfile.Selection{Lines: 2}, "b\nc"},
		"more than there are":     {"a\nb\n", logfile.Selection{Lines: 5}, "a\nb\n"},
		"none":                    {"a\nb\n", logfile.Selection{}, ""},
		"at most so many bytes":   {"a\nb\nc\n", logfile.Selection{Lines: -1, Bytes: 3}, "a\nb"},
		"of an empty file":        {"", logfile.Selection{Lines: 3}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			write(t, path, c.text)
			var out strings.Builder
			if err := logfile.Copy(t.Context(), &out, path, c.s); err != nil || out.String() != c.want {
				t.Errorf("%v, %d bytes, want %d: %.60q", err, out.Len(), len(c.want), out.String())
			}
		})
	}
	if err := logfile.Copy(t.Context(), io.Discard, filepath.Join(t.TempDir(), "none"), logfile.Selection{}); !os.IsNotExist(err) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// A file that comes later, grows, and is replaced by another, as by a new start of the cluster.
func TestAFollowedFileMayComeGrowAndBeReplaced(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "log")
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- logfile.Copy(ctx, to, path, logfile.Selection{Lines: 1, Follow: true}) }()
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	stop := context.AfterFunc(ctx, func() { from.Close() })
	defer stop()
	write(t, path, "first\n")
	expect("first\n")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(file, "second")
	file.Close()
	expect("second\n")
	write(t, path+".new", "another\n")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	expect("another\n")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end of the context: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
