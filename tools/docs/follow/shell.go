package follow

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	patience  = 5 * time.Minute // the time for one step
	again     = time.Second
	watchTime = "5"
	anyNode   = `"$(kubectl get nodes --selector karpenter.sh/nodepool --output jsonpath='{.items[0].metadata.name}')"`
	ended     = "@@ended@@"
)

// Shell is a bash that runs all commands of a page, so that a command sees the variables that an earlier command exported.
type Shell struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   <-chan string
}

// Start starts a shell in a folder with more variables, NAME=value. It ends with ctx, or with Close.
func Start(ctx context.Context, dir string, variables ...string) (*Shell, error) {
	command := exec.CommandContext(ctx, "bash", "--noprofile", "--norc")
	command.Dir, command.Env = dir, append(os.Environ(), variables...)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, inside, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.Stdout, command.Stderr = inside, inside
	if err := command.Start(); err != nil {
		return nil, err
	}
	inside.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer out.Close()
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return &Shell{command: command, in: in, lines: lines}, nil
}

// Close ends the shell.
func (s *Shell) Close() {
	s.in.Close()
	for range s.lines { // the rest of the output
	}
	_ = s.command.Wait() // its status is the status of its last command
}

// Do runs a step and returns its output. It returns an error if the command fails or does not print the shown output. It repeats a command
// that only reads until the command succeeds or patience ends, and returns the output of the last try.
func (s *Shell) Do(ctx context.Context, step Step) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		printed, status, err := s.run(ctx, step)
		switch {
		case err != nil:
			return printed, err
		case status == 0 && (step.Shown == "" || Matches(step.Shown, printed)):
			return printed, nil
		case !step.Reads():
			return printed, fmt.Errorf("exit status %d, printed:\n%s", status, printed)
		}
		select {
		case <-ctx.Done():
			return printed, fmt.Errorf("exit status %d, printed to the end:\n%s", status, printed)
		case <-time.After(again):
		}
	}
}

// run runs the step's command once.
func (s *Shell) run(ctx context.Context, step Step) (printed string, status int, err error) {
	command := strings.ReplaceAll(step.Command, "<name>", anyNode)
	if step.Watches() {
		command = "timeout " + watchTime + " " + command + "; [ $? = 124 ]"
	}
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null; __status=$?; echo; echo %s $__status\n", command, ended); err != nil {
		return "", 0, err
	}
	var out strings.Builder
	for {
		select {
		case <-ctx.Done():
			return out.String(), 0, fmt.Errorf("%w; printed:\n%s", context.Cause(ctx), out.String())
		case line, open := <-s.lines:
			if !open {
				return out.String(), 0, fmt.Errorf("the shell ended; printed:\n%s", out.String())
			}
			if text, is := strings.CutPrefix(line, ended+" "); is {
				status, err = strconv.Atoi(text)
				return out.String(), status, err
			}
			out.WriteString(line + "\n")
		}
	}
}
