package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// asProgram makes the test binary the program itself.
const asProgram = "LKEPROBE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	_ = flag.Set("test.parallel", "8") // these tests wait for lkeprobe's pauses, not for processors
	os.Exit(m.Run())
}

// served is a simulator on a port of loopback.
type served struct {
	*linodesim.Sim
	url     string
	cluster int
	before  linodesim.State
}

func serve(t *testing.T) served {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Tier: linodesim.Standard, Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return served{sim, server.URL, info.ID, sim.Snapshot()}
}

// same waits until the account is as it was before.
func (s served) same(t *testing.T) {
	t.Helper()
	for range 100 {
		after := s.Snapshot()
		s.before.At, after.At = time.Time{}, time.Time{}
		if reflect.DeepEqual(s.before, after) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("left behind: %+v", s.Snapshot().Clusters[0].Pools)
}

func (s served) command(ctx context.Context, t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), asProgram+"=1", "LINODE_URL="+s.url, "LINODE_TOKEN="+linodesim.DefaultToken)
	c.Dir = t.TempDir()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	return c, &out
}

// pools waits until the run has a pool with nodes.
func (s served) pools(t *testing.T) {
	t.Helper()
	for range 400 {
		for _, p := range s.Snapshot().Clusters[0].Pools {
			if len(p.Tags) > 0 && len(p.Nodes) > 0 && p.Nodes[0].InstanceID != 0 {
				return
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("the run created nothing")
}

func TestSignalsEndARunAndRemoveWhatItMade(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			c, out := s.command(t.Context(), t, "--cluster", fmt.Sprint(s.cluster), "--yes", "--only", "rename")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			s.pools(t)
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := c.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out.String(), "interrupted") {
				t.Errorf("%v\n%s", err, out)
			}
			s.same(t)
			if r := read(t, filepath.Join(c.Dir, "report.json")); r.Audit.Stopped != "interrupted" {
				t.Errorf("stopped: %q", r.Audit.Stopped)
			}
		})
	}
}

func TestCleanAfterAKilledProcess(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, _ := s.command(t.Context(), t, "--cluster", fmt.Sprint(s.cluster), "--yes", "--only", "rename")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.pools(t)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	clean, out := s.command(t.Context(), t, "clean", "--cluster", fmt.Sprint(s.cluster), "--watch", "1s")
	clean.Stdin = strings.NewReader("yes\n")
	if err := clean.Run(); err != nil || !strings.Contains(out.String(), "1 pools removed") {
		t.Errorf("%v\n%s", err, out)
	}
	s.same(t)
}

func read(t *testing.T, path string) *report.Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := report.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWholeRunWritesBothForms(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, out := s.command(t.Context(), t, "--cluster", fmt.Sprint(s.cluster), "--only", "filter,limits,refusals", "--output", "mine.json")
	c.Stdin = strings.NewReader("yes\n")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.same(t)
	if r := read(t, filepath.Join(c.Dir, "mine.json")); r.Audit.Stopped != "" || len(r.Facts) < 15 ||
		r.Switches[report.PoolFilter] != report.ValueHonoured {
		t.Errorf("report %+v", r)
	}
	page, err := os.ReadFile(filepath.Join(c.Dir, "mine.md"))
	if err != nil || !strings.Contains(string(page),
		"| X-Filter on the list of pools, by an ID that no pool has | unknown | honoured | settled |") {
		t.Errorf("%v\n%s", err, page)
	}
	for _, want := range []string{"creates   node pools of plan g6-standard-1", "costs     at most $0.03", "Type yes to go on: ",
		"filter.pools", "report=mine.json"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestArguments(t *testing.T) {
	s := serve(t)
	env := map[string]string{"LINODE_TOKEN": linodesim.DefaultToken, "LINODE_URL": s.url}
	cluster := fmt.Sprint(s.cluster)
	for _, c := range []struct {
		name, words, stdin string
		args               []string
		usage              bool
	}{
		{name: "no cluster", words: "--cluster is 0", args: []string{"--yes"}},
		{name: "unknown flag", words: "not defined", args: []string{"--fast"}, usage: true},
		{name: "argument", words: `unexpected argument "now"`, args: []string{"--cluster", cluster, "now"}, usage: true},
		{name: "output", words: "must end in .json", args: []string{"--cluster", cluster, "--output", "x"}, usage: true},
		{name: "kubeconfig", words: "no such file", args: []string{"--cluster", cluster, "--kubeconfig", "/none"}, usage: true},
		{name: "declined", words: "not agreed to", stdin: "y\n", args: []string{"--cluster", cluster}},
		{name: "no answer", words: "not agreed to", args: []string{"--cluster", cluster}},
		{name: "dry run", args: []string{"--cluster", cluster, "--dry-run"}},
		{name: "budget", words: "--budget is 0.01", args: []string{"--cluster", cluster, "--yes", "--budget", "0.01"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), c.args, terminal{in: strings.NewReader(c.stdin), out: &out, errors: &out},
				func(name string) string { return env[name] })
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("error %v, want %q", err, c.words)
			}
			if errors.As(err, new(usageError)) != c.usage {
				t.Errorf("error %v is one of usage: %v", err, !c.usage)
			}
			s.same(t)
		})
	}
}

// A signal ends the question as well.
func TestSignalWhileAsking(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	silent, answer := io.Pipe()
	t.Cleanup(func() { _ = answer.Close() })
	var out bytes.Buffer
	asked := watcher{w: &out, word: "Type yes", seen: cancel}
	env := map[string]string{"LINODE_TOKEN": linodesim.DefaultToken, "LINODE_URL": s.url}
	err := run(ctx, []string{"--cluster", fmt.Sprint(s.cluster)}, terminal{in: silent, out: asked, errors: &out},
		func(name string) string { return env[name] })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v\n%s", err, out.String())
	}
	s.same(t)
}

// watcher calls seen when a word is written.
type watcher struct {
	w    io.Writer
	word string
	seen func()
}

func (w watcher) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.word) {
		w.seen()
	}
	return w.w.Write(p)
}
