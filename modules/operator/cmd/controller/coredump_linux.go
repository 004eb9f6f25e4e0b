package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// forbidCoreDumps keeps the process's memory, and with it the API token, out of core dumps. The limit 0 prevents a dump to a file. The
// kernel ignores the limit on a node that pipes core dumps to a program (core(5)). The cleared dumpable flag prevents such a dump, too
// (prctl(2)). A child process, or a debugger without privileges, can undo neither.
func forbidCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("setting the limit of core dumps to 0: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("making the process not dumpable: %w", err)
	}
	return nil
}
