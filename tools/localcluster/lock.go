package localcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
)

// ErrRunning is the cause when a cluster of the same name runs already.
var ErrRunning = errors.New("it is running already")

// Lock marks a state folder as in use while the process that took the lock lives. The
// kernel releases the lock when the process ends, however it ends. The file stays: if it
// were removed, two processes could each lock a file of the same name.
type Lock struct{ file *flock.Flock }

// TakeLock takes the lock of a state folder and writes this process's ID into its file.
// The error is ErrRunning if another process has the lock.
func TakeLock(stateDir string) (*Lock, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	lock := &Lock{flock.New(lockFile(stateDir))}
	taken, err := lock.file.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", lockFile(stateDir), err)
	case !taken:
		return nil, ErrRunning
	}
	if err := os.WriteFile(lockFile(stateDir), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		lock.Release()
		return nil, err
	}
	return lock, nil
}

// Release releases the lock.
func (l *Lock) Release() { _ = l.file.Close() } // after an error, the kernel releases it at the end of the process

// Holder is the ID of the process that runs a cluster in this state folder; 0 = no
// process. The process holds the lock while it lives, so the ID is never of an earlier
// process.
func Holder(stateDir string) int {
	lock := flock.New(lockFile(stateDir), flock.SetFlag(os.O_RDWR)) // does not create a missing file
	free, err := lock.TryRLock()
	defer func() { _ = lock.Close() }()
	content, unread := os.ReadFile(lockFile(stateDir))
	pid, none := strconv.Atoi(string(content))
	if free || err != nil || unread != nil || none != nil {
		return 0
	}
	return pid
}

func lockFile(stateDir string) string { return filepath.Join(stateDir, "lock") }
