package localcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrRunning is the cause when a cluster of the same name runs already.
var ErrRunning = errors.New("it is running already")

// Lock marks a state folder as in use for as long as the process that took it
// lives: the kernel lets it go when that process ends, however it ends. The file
// stays, as removing it would let two processes hold two files of one name.
type Lock struct{ file *os.File }

// TakeLock takes the lock of a state folder and writes this process's number
// into it. The error is ErrRunning when another process has it.
func TakeLock(stateDir string) (*Lock, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(lockFile(stateDir), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrRunning
		}
		return nil, fmt.Errorf("lock %s: %w", lockFile(stateDir), err)
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid()))); err != nil {
		file.Close()
		return nil, err
	}
	return &Lock{file}, nil
}

// Release lets the lock go.
func (l *Lock) Release() { l.file.Close() }

// Holder is the process that runs a cluster in this state folder; 0 = none. As
// the lock is held while it lives, the number is never an old one.
func Holder(stateDir string) int {
	file, err := os.OpenFile(lockFile(stateDir), os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return 0
	}
	content, err := os.ReadFile(lockFile(stateDir))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0
	}
	return pid
}

func lockFile(stateDir string) string { return filepath.Join(stateDir, "lock") }

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}
