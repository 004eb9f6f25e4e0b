package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Spec describes the program to run.
type Spec struct {
	Name    string   // for messages
	Path    string   // the program's file
	Args    []string // without the program's name
	Env     []string // the whole environment, NAME=value
	Dir     string   // working directory
	LogFile string   // standard output and error

	// UID and GID the child runs as, 0 = this process's. Only root may start others; for any
	// other user they are ignored.
	UID, GID int
}

// Process is a child that was started.
type Process struct {
	spec   Spec
	pid    int
	exited chan struct{}
	err    error // why it ended; read after exited is closed
}

// ErrMissing is the cause if a program's file does not exist.
var ErrMissing = errors.New("the program is missing: run `make build` first")

// Start starts the program. An error is one line that names program and cause.
func Start(spec Spec) (*Process, error) {
	if _, err := os.Stat(spec.Path); err != nil {
		return nil, fmt.Errorf("%s: %w (%s)", spec.Name, ErrMissing, spec.Path)
	}
	if err := os.MkdirAll(filepath.Dir(spec.LogFile), 0o755); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	p := &Process{spec: spec, exited: make(chan struct{})}
	started := make(chan error)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	return p, nil
}

// run starts the child and waits for its end on one locked thread. The kernel kills the
// child when the thread that started it ends (Pdeathsig), and an unlocked thread may end
// before this process does.
func (p *Process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Dir = p.spec.Dir
	cmd.Env = append([]string{}, p.spec.Env...) // not nil: nil means the parent's environment
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(p.spec)
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	p.err = cmd.Wait()
	close(p.exited)
}

// PID is the ID of the child and of its process group.
func (p *Process) PID() int { return p.pid }

// Name as in the Spec.
func (p *Process) Name() string { return p.spec.Name }

// LogFile as in the Spec.
func (p *Process) LogFile() string { return p.spec.LogFile }

// Exited is closed when the child has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running reports whether the child has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Failure describes, in one line, why a child ended that was not stopped: the cause from
// its log, and the place of the log.
func (p *Process) Failure() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	// A program that was ended by a signal has not logged the reason.
	if said := lastWords(p.spec.LogFile); said != "" && !p.signaled() {
		how += ": " + said
	}
	return fmt.Errorf("%s ended (%s); log: %s", p.spec.Name, how, p.spec.LogFile)
}

func (p *Process) signaled() bool {
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return false
	}
	status, known := exit.Sys().(syscall.WaitStatus)
	return known && status.Signaled()
}

// Stop terminates the group, and kills it when ctx ends or the grace is over. It returns
// when the child has ended.
func (p *Process) Stop(ctx context.Context, grace time.Duration) {
	if !p.Running() {
		return
	}
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
	case <-ctx.Done():
	}
	p.Kill()
}

// Kill ends the group at once (SIGKILL) and returns when the child has ended.
func (p *Process) Kill() {
	if p.Running() {
		p.signal(syscall.SIGKILL)
	}
	<-p.exited
}

// Pause freezes the group (SIGSTOP) until Resume. Kill works on a frozen group too.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume continues a frozen group.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// signal sends a signal to the group. This process has not waited for the child yet, or
// has only just done so. So the ID cannot belong to another group of this process.
func (p *Process) signal(sig syscall.Signal) {
	_ = syscall.Kill(-p.pid, sig) // an error means that no process of the group is left
}
