// Package logfile copies the end of a log file and follows it while a program appends to it.
//
// It is called by package kubelet, for `kubectl logs`, and by cmd/localcluster, for `make logs`. The system's tail does the
// work. If the file is replaced or truncated, as by a new start of the cluster, tail reads it again from its beginning.
//
// Copy returns when ctx ends or, without Follow, at the end of the file. Without Follow, a missing file is an error; with
// Follow, Copy waits for the file.
package logfile

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// Selection selects the part of a file to copy. The zero value selects nothing.
type Selection struct {
	Lines  int   // the number of last lines; below 0 = all lines
	Bytes  int64 // the most bytes to copy; 0 = no bound
	Follow bool  // go on until the context ends, also when the file does not exist yet
}

// Copy writes the selected part of the file to w. The end of ctx ends a Follow without an error.
func Copy(ctx context.Context, w io.Writer, path string, s Selection) error {
	args := []string{"-n", strconv.Itoa(s.Lines)}
	if s.Lines < 0 {
		args[1] = "+1"
	}
	if s.Follow {
		args = append(args, "-F")
	} else if _, err := os.Stat(path); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tail := exec.CommandContext(ctx, "tail", append(args, path)...)
	out, err := tail.StdoutPipe()
	if err != nil {
		return err
	}
	if err := tail.Start(); err != nil {
		return err
	}
	from := io.Reader(out)
	if s.Bytes > 0 {
		from = io.LimitReader(out, s.Bytes)
	}
	_, err = io.Copy(w, from)
	enough := err != nil || s.Bytes > 0 || ctx.Err() != nil
	if enough {
		cancel()
	}
	if failed := tail.Wait(); !enough {
		return failed
	}
	return err
}
