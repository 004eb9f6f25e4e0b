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

// Lock marks a state folder as in use for as long as the process that took it
// lives: the kernel lets it go when that process ends, however it ends. The file
// stays, as removing it would let two processes hold two files of one name.
type Lock struct{ file *flock.Flock }

// TakeLock takes the lock of a state folder and writes this process's number
// into it. The error is ErrRunning when another process has it.
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

// Release lets the lock go.
func (l *Lock) Release() { _ = l.file.Close() } // it goes with the process at the latest

// Holder is the process that runs a cluster in this state folder; 0 = none. As
// the lock is held while it lives, the number is never an old one.
func Holder(stateDir string) int {
	lock := flock.New(lockFile(stateDir), flock.SetFlag(os.O_RDWR)) // a lock that is not there is not made
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
