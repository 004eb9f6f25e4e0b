// Package logfile copies the end of a log file and follows it while a program appends to it.
//
// It is called by package kubelet, for `kubectl logs`, and by cmd/localcluster, for `make logs`. A file that was replaced
// or truncated, as a new start of the cluster does, is read again from its beginning. Lines are copied as they are.
package logfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	followEvery = 200 * time.Millisecond
	chunk       = 32 << 10
)

// Selection is what of a file is copied. The zero value is nothing but its end.
type Selection struct {
	Lines  int   // the last so many; below 0 all
	Bytes  int64 // at most; 0 = no bound
	Follow bool  // go on until the context ends, also when the file does not exist yet
}

// Copy writes the selected part of the file to w. The end of ctx ends a Follow without an error.
func Copy(ctx context.Context, w io.Writer, path string, s Selection) error {
	f := &follower{path: path, out: w, left: s.Bytes, bounded: s.Bytes > 0}
	defer f.close()
	if err := f.open(s.Lines); err != nil && (!s.Follow || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	for {
		err := f.copy()
		if err != nil || !s.Follow || f.bounded && f.left == 0 {
			return err
		}
		if !pause(ctx) {
			return nil
		}
		if err := f.replaced(); err != nil {
			return err
		}
	}
}

type follower struct {
	path    string
	out     io.Writer
	file    *os.File // nil: it does not exist yet
	bounded bool
	left    int64
}

func (f *follower) open(lines int) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	f.close()
	f.file = file
	at, err := startOf(file, lines)
	if err == nil {
		_, err = file.Seek(at, io.SeekStart)
	}
	return err
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// copy writes what is there beyond what was written.
func (f *follower) copy() error {
	if f.file == nil {
		return nil
	}
	var from io.Reader = f.file
	if f.bounded {
		from = io.LimitReader(f.file, f.left)
	}
	n, err := io.Copy(f.out, from)
	f.left -= n
	return err
}

// replaced opens the path again when another file is there, or less than was read.
func (f *follower) replaced() error {
	now, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.file == nil {
		return f.open(-1)
	}
	then, err := f.file.Stat()
	if err != nil {
		return err
	}
	at, err := f.file.Seek(0, io.SeekCurrent)
	if err != nil || os.SameFile(now, then) && now.Size() >= at {
		return err
	}
	return f.open(-1)
}

// startOf is where the last so many lines begin.
func startOf(file *os.File, lines int) (int64, error) {
	if lines < 0 {
		return 0, nil
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return end, err
	}
	seen := 0
	for at := end; at > 0; {
		from := max(0, at-chunk)
		part := make([]byte, at-from)
		if _, err := file.ReadAt(part, from); err != nil {
			return 0, err
		}
		if at == end {
			part = bytes.TrimSuffix(part, []byte("\n"))
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if seen++; seen == lines {
				return from + int64(i) + 1, nil
			}
		}
		at = from
	}
	return 0, nil
}

func pause(ctx context.Context) bool {
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
