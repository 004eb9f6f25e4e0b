package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// ReportFile is the file descriptor on which the background process reports.
const ReportFile = 3

// killGrace is how long Down waits for an orderly end.
const killGrace = 30 * time.Second

const holderPoll = 100 * time.Millisecond

// Up starts this program again in the background, and waits until the cluster is ready.
// With the given arguments the program must call Run. If ctx ends before the cluster is
// ready, Up stops the background process.
func Up(ctx context.Context, stateDir string, args []string, progress io.Writer) (Info, error) {
	if info, err := Read(stateDir); err == nil {
		return info, localcluster.ErrRunning
	}
	report, child, err := background(stateDir, args)
	if err != nil {
		return Info{}, err
	}
	defer report.Close()
	unwatch := context.AfterFunc(ctx, func() { _ = child.Process.Signal(syscall.SIGTERM) })
	defer unwatch()
	if err := follow(report, progress); err != nil {
		_ = child.Wait() // the child stops the parts that it started; its report has the error already
		if ctx.Err() != nil {
			return Info{}, errors.New("stopped")
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the background process ended; log: %s", LogFile(stateDir))
		}
		return Info{}, err
	}
	return Read(stateDir)
}

func background(stateDir string, args []string) (*os.File, *exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, nil, err
	}
	log, err := os.Create(LogFile(stateDir))
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	report, childEnd, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer childEnd.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{childEnd}
	// In a new session, because the terminal's Ctrl-C and hang-up must not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		report.Close()
		return nil, nil, err
	}
	return report, cmd, nil
}

// follow prints the steps until the background process is ready or has failed.
func follow(report io.Reader, progress io.Writer) error {
	lines := bufio.NewScanner(report)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if step, is := strings.CutPrefix(line, sayStep); is {
			fmt.Fprintln(progress, step)
		}
		if failure, is := strings.CutPrefix(line, sayError); is {
			return errors.New(failure)
		}
		if line == sayReady {
			return nil
		}
	}
	return io.ErrUnexpectedEOF
}

// Down stops the cluster of a state folder and waits until it has ended. It kills a
// supervisor that does not end within killGrace; on Linux all its children die with it.
// Down returns ErrNotRunning if no cluster runs.
func Down(ctx context.Context, stateDir string) error {
	pid := localcluster.Holder(stateDir)
	if pid == 0 {
		return ErrNotRunning
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	patient, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	if gone(patient, stateDir) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("process %d is still stopping; log: %s", pid, LogFile(stateDir))
	}
	if localcluster.Holder(stateDir) == pid {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if !gone(ctx, stateDir) {
		return fmt.Errorf("process %d does not end; log: %s", pid, LogFile(stateDir))
	}
	return nil
}

// gone waits until no process holds the folder's lock.
func gone(ctx context.Context, stateDir string) bool {
	return wait.PollUntilContextCancel(ctx, holderPoll, true,
		func(context.Context) (bool, error) { return localcluster.Holder(stateDir) == 0, nil }) == nil
}
