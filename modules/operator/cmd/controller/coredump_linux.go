package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// forbidCoreDumps keeps the process's memory, and with it the API token, out of core dumps. The limit holds where a
// dump is a file, but not where the kernel pipes it to a program, and that may be the node's (core(5)); there it is
// the dumpable flag that holds (prctl(2)). Neither can be taken back by a child or by a debugger without rights.
func forbidCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("setting the limit of core dumps to 0: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("making the process not dumpable: %w", err)
	}
	return nil
}
