package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// account is a simulator on a port of loopback.
type account struct {
	*linodesim.Sim
	server  *httptest.Server
	cluster string
	before  linodesim.State
}

func serve(t *testing.T) account {
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
	return account{sim, server, fmt.Sprint(info.ID), sim.Snapshot()}
}

// same waits until the account is in its earlier state.
func (a account) same(t *testing.T) {
	t.Helper()
	for range 200 {
		after := a.Snapshot()
		a.before.At, after.At = time.Time{}, time.Time{}
		if reflect.DeepEqual(a.before, after) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("left behind: %+v", a.Snapshot().Clusters[0].Pools)
}

// environ lets verify find the account and no Kubernetes cluster.
func (a account) environ() []string {
	return []string{"LINODE_URL=" + a.server.URL, "LINODE_TOKEN=" + linodesim.DefaultToken, "KUBECONFIG=/nowhere/kubeconfig"}
}

func (a account) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, append([]string{"verify", "--cluster", a.cluster}, args...)...)
	c.Env = slices.Concat(os.Environ(), a.environ(), []string{asProgram + "=1"})
	c.Dir = t.TempDir()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	return c, &out
}

// begin starts a run and waits until it has a pool with a Linode.
func (a account) begin(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	c, out := a.command(t, "--yes", "--only", "rename")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1200 {
		for _, p := range a.Snapshot().Clusters[0].Pools {
			if len(p.Tags) > 0 && len(p.Nodes) > 0 && p.Nodes[0].InstanceID != 0 {
				return c, out
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("the run created nothing")
	return nil, nil
}

// run is the ID of the run that has a pool.
func (a account) run(t *testing.T) string {
	t.Helper()
	for _, p := range a.Snapshot().Clusters[0].Pools {
		for _, tag := range p.Tags {
			if run, is := strings.CutPrefix(tag, "lkeprobe-run="); is {
				return run
			}
		}
	}
	t.Fatal("no pool of a run")
	return ""
}

func TestSignalsEndARunAndRemoveWhatItMade(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			a := serve(t)
			c, out := a.begin(t)
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := c.Wait()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out.String(), "interrupted") {
				t.Errorf("%v\n%s", err, out)
			}
			a.same(t)
			if r := readReport(t, filepath.Join(c.Dir, "verify.json")); r.Audit.Stopped != "interrupted" {
				t.Errorf("stopped: %q", r.Audit.Stopped)
			}
		})
	}
}

// A killed process can remove nothing, and neither can a process without a network. --clean does it.
func TestCleanAfterARunThatCouldNotCleanUp(t *testing.T) {
	for name, end := range map[string]func(*testing.T, account, *exec.Cmd){
		"killed": func(t *testing.T, _ account, c *exec.Cmd) {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		},
		"without a network": func(t *testing.T, a account, c *exec.Cmd) {
			a.server.CloseClientConnections()
			a.Fail(linodesim.Rule{Drop: true})
			time.AfterFunc(3*time.Second, func() { _ = c.Process.Signal(syscall.SIGINT) })
			time.AfterFunc(6*time.Second, func() { _ = c.Process.Signal(syscall.SIGINT) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t)
			c, out := a.begin(t)
			run := a.run(t)
			end(t, a, c)
			if err := c.Wait(); err == nil {
				t.Errorf("the run passed\n%s", out)
			}
			a.HealAll()
			if len(a.Snapshot().Clusters[0].Pools) == 1 {
				t.Fatal("nothing is left to clean")
			}
			clean, out := a.command(t, "--clean", run, "--watch", "1s")
			clean.Stdin = strings.NewReader("yes\n")
			if err := clean.Run(); err != nil || !strings.Contains(out.String(), "1 pools removed") {
				t.Errorf("%v\n%s", err, out)
			}
			a.same(t)
		})
	}
}

func readReport(t *testing.T, path string) *report.Report {
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
	a := serve(t)
	c, out := a.command(t, "--only", "filter,limits,refusals", "--report", "mine.json", "-o", "json")
	c.Stdin = strings.NewReader("yes\n")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a.same(t)
	file := filepath.Join(c.Dir, "mine.json")
	if r := readReport(t, file); r.Audit.Stopped != "" || len(r.Facts) < 15 || r.Switches[report.PoolFilter] != report.ValueHonoured {
		t.Errorf("report %+v", r)
	}
	if _, _, err := linodesim.ProfileFrom(file); err != nil {
		t.Errorf("it is no profile: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "mine.md"))
	const row = "| X-Filter on the list of pools, by an ID that no pool has | unknown | honoured | settled |"
	if err != nil || !strings.Contains(string(text), row) {
		t.Errorf("%v\n%s", err, text)
	}
	for _, want := range []string{"creates   Linodes of plan g6-standard-1", "costs     at most $0.03", "Type yes to go on: ",
		"filter.pools", "report=mine.json", "no kubeconfig", `"schema": "verify/1"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// If a measurement breaks an assumption, the error of the command names it.
func TestRedIsAnError(t *testing.T) {
	t.Parallel()
	a := serve(t)
	if err := a.Lie(report.NoLimitHeaders); err != nil {
		t.Fatal(err)
	}
	c, out := a.command(t, "--yes", "--only", "limits")
	if err := c.Run(); err == nil || !strings.Contains(out.String(), "red: no-limit-headers; see verify.md") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestVerifyRefusesBeforeItBuys(t *testing.T) {
	a := serve(t)
	for _, pair := range a.environ() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		name, words, stdin string
		args               []string
	}{
		{name: "no cluster", words: "--cluster is 0", args: []string{"--yes"}},
		{name: "unknown flag", words: "unknown flag", args: []string{"--fast"}},
		{name: "argument", words: `unknown command "now"`, args: []string{"--cluster", a.cluster, "now"}},
		{name: "report", words: "must end in .json", args: []string{"--cluster", a.cluster, "--report", "x"}},
		{name: "output", words: "is not one of text, json", args: []string{"--cluster", a.cluster, "-o", "yaml"}},
		{name: "kubeconfig", words: "KUBECONFIG", args: []string{"--cluster", a.cluster, "--kubeconfig", "/none"}},
		{name: "mode", words: `"eks" is not one of`, args: []string{"--mode", "eks"}},
		{name: "instance mode with an LKE cluster", words: "leave --cluster out", args: []string{"--mode", "instance", "--cluster", a.cluster}},
		{name: "instance mode without a class", words: "--nodeclass", args: []string{"--mode", "instance"}},
		{name: "install without Kubernetes", words: "KUBECONFIG", args: []string{"--cluster", a.cluster, "--install"}},
		{name: "declined", words: "you did not agree", stdin: "y\n", args: []string{"--cluster", a.cluster}},
		{name: "no answer", words: "you did not agree", args: []string{"--cluster", a.cluster}},
		{name: "dry run", args: []string{"--cluster", a.cluster, "--dry-run"}},
		{name: "budget", words: "--budget is 0.01", args: []string{"--cluster", a.cluster, "--yes", "--budget", "0.01"}},
		{name: "run", words: `the run is "x"`, args: []string{"--cluster", a.cluster, "--clean", "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			out, err := execute(t, c.stdin, append([]string{"verify"}, c.args...)...)
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("error %v, want %q\n%s", err, c.words, out)
			}
			for _, call := range a.Calls() {
				if call.Method != "GET" {
					t.Errorf("%s %s was sent", call.Method, call.Route)
				}
			}
		})
	}
}

// A signal ends the question as well.
func TestSignalWhileAsking(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent, answer := io.Pipe()
	t.Cleanup(func() { _ = answer.Close() })
	v := &verification{console: console{in: silent, out: onWrite(cancel)}}
	if agreed, err := v.confirmed(ctx); agreed || !errors.Is(err, context.Canceled) {
		t.Errorf("agreed %v, error %v", agreed, err)
	}
}

// onWrite is called when something is written.
type onWrite func()

func (w onWrite) Write(p []byte) (int, error) { w(); return len(p), nil }

// The token is in no argument of helm: it goes through standard input.
func TestHelmGetsTheTokenThroughStandardInput(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >> " + dir + "/args\ncat >> " + dir + "/stdin\n"
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("LINODE_TOKEN", "s3cret")
	t.Setenv("LINODE_URL", "http://127.0.0.1:1")
	h := helm{charts: "charts", namespace: "kube-system", kubeconfig: "/k", context: "c", cluster: "demo", out: io.Discard}
	if err := errors.Join(h.install(t.Context()), h.uninstall(t.Context())); err != nil {
		t.Fatal(err)
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	stdin, _ := os.ReadFile(filepath.Join(dir, "stdin"))
	if strings.Contains(string(args), "s3cret") || !strings.Contains(string(stdin), `"apiToken":"s3cret"`) ||
		!strings.Contains(string(stdin), `"clusterName":"demo"`) {
		t.Errorf("args %s\nstdin %s", args, stdin)
	}
	for _, want := range []string{
		"upgrade --install karpenter-crd charts/karpenter-crd --set keepOnUninstall=false --namespace kube-system --kubeconfig /k " +
			"--kube-context c",
		"uninstall karpenter --wait"} {
		if !strings.Contains(string(args), want) {
			t.Errorf("%q is not in\n%s", want, args)
		}
	}
}
