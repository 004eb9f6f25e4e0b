package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

const patience = 2 * time.Minute

// parentOf makes the test program a parent that starts one child, prints its
// number and waits to be killed.
const parentOf = "PROCESS_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentOf); dir != "" {
		p, err := process.Start(shell(dir, "sleep 600"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		<-p.Exited()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func shell(dir, script string, env ...string) process.Spec {
	return process.Spec{
		Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Env: env,
		LogFile: filepath.Join(dir, "logs", "child.log"),
	}
}

func start(t *testing.T, spec process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func waitExit(t *testing.T, p *process.Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

func TestFailureSaysWhyAndWhere(t *testing.T) {
	cases := map[string]struct{ script, says string }{
		"the last line that speaks of an error": {
			"echo starting; echo 'fatal: port taken'; echo bye; exit 3", "child ended (exit status 3: fatal: port taken); log: ",
		},
		"else the last line": {"echo one; echo two", "child ended (exit status 0: two); log: "},
		"nothing said":       {"exit 7", "child ended (exit status 7); log: "},
		"killed":             {"echo an error of long ago; kill -9 $$", "child ended (signal: killed); log: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := start(t, shell(t.TempDir(), c.script))
			waitExit(t, p)
			if got := p.Failure().Error(); !strings.HasPrefix(got, c.says) || !strings.HasSuffix(got, p.LogFile()) {
				t.Errorf("says %q", got)
			}
		})
	}
}

func TestAChildSeesOnlyItsEnvironment(t *testing.T) {
	t.Setenv("LINODE_TOKEN", "s3cret")
	p := start(t, shell(t.TempDir(), "echo \"[$LINODE_TOKEN][$MINE]\"", "MINE=yes"))
	waitExit(t, p)
	if log, err := os.ReadFile(p.LogFile()); err != nil || string(log) != "[][yes]\n" {
		t.Errorf("the child saw %q, %v", log, err)
	}
}

// Stop ends what the child started too, whether it listens to SIGTERM or not.
func TestStopEndsTheGroup(t *testing.T) {
	cases := map[string]string{
		"obedient": "sleep 600 & echo $!; wait",
		"stubborn": "trap '' TERM; (trap '' TERM; sleep 600) & echo $!; while :; do wait; done",
	}
	for name, script := range cases {
		t.Run(name, func(t *testing.T) {
			p := start(t, shell(t.TempDir(), script))
			grandchild := firstNumber(t, p.LogFile())
			p.Stop(t.Context(), 200*time.Millisecond)
			if p.Running() {
				t.Error("it still runs")
			}
			waitGone(t, grandchild)
		})
	}
}

func TestNothingSurvivesAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux ties a child's life to its parent's; the package's doc says so")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	parent := exec.CommandContext(ctx, os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	child, numberErr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || numberErr != nil {
		t.Fatalf("the parent says %q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	waitGone(t, child)
}

func TestMissingProgram(t *testing.T) {
	spec := shell(t.TempDir(), "")
	spec.Path = "/no/such/program"
	if _, err := process.Start(spec); !errors.Is(err, process.ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
}

func firstNumber(t *testing.T, file string) (number int) {
	t.Helper()
	eventually(t, "a number in the log", func() bool {
		content, _ := os.ReadFile(file)
		var err error
		number, err = strconv.Atoi(strings.TrimSpace(string(content)))
		return err == nil
	})
	return number
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// state returns the kernel's state of a process, "" where there is no /proc.
func state(pid int) string {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return ""
	}
	stat, err := p.Stat()
	if err != nil {
		return ""
	}
	return stat.State
}

// waitGone waits until the process has ended. One whose parent has not waited for it yet
// counts as ended: it is a number and nothing else.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the end of the process", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || state(pid) == "Z" })
}

func TestAFrozenProcessGoesOnOrIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there is no /proc
	}
	p := start(t, shell(t.TempDir(), "exec sleep 600"))
	p.Pause()
	eventually(t, "it is frozen", func() bool { return state(p.PID()) == "T" })
	p.Resume()
	eventually(t, "it goes on", func() bool { return state(p.PID()) != "T" })
	p.Pause()
	p.Kill()
	waitExit(t, p)
}

func TestAChildRunsAsItsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may start programs as another user")
	}
	spec := shell(t.TempDir(), "/usr/bin/id -u; /usr/bin/id -g; exit 1")
	spec.Dir, spec.UID, spec.GID = "/", 65532, 65533
	p := start(t, spec)
	waitExit(t, p)
	if said, err := os.ReadFile(spec.LogFile); err != nil || string(said) != "65532\n65533\n" {
		t.Errorf("the child has user and group %q, %v", said, err)
	}
}
