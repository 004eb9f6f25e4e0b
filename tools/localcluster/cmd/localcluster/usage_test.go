package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said runs the program and returns its output and its error's text.
func said(t *testing.T, args ...string) (output, problem string) {
	t.Helper()
	var out strings.Builder
	program := root()
	program.SetOut(&out)
	program.SetErr(&out)
	program.SetArgs(args)
	if err := program.ExecuteContext(t.Context()); err != nil {
		problem = err.Error()
	}
	return out.String(), problem
}

func TestHelpAndCompletionArePrinted(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"no verb":    {nil, []string{"demo", "up", "status", "logs", "break", "down", "completion"}},
		"help":       {[]string{"help"}, []string{"Usage:", "up  ", "down  "}},
		"--help":     {[]string{"--help"}, []string{"Usage:", "up  ", "down  "}},
		"-h":         {[]string{"-h"}, []string{"Usage:"}},
		"help up":    {[]string{"help", "up"}, []string{"--tier string", "standard or enterprise", "--gates string"}},
		"up --help":  {[]string{"up", "--help"}, []string{"--tier string"}},
		"break -h":   {[]string{"break", "-h"}, []string{"no-capacity", "revoked-token", "none", "--plan string"}},
		"completion": {[]string{"completion", "bash"}, []string{"__start_localcluster"}},
		"of verbs":   {[]string{"__complete", "st"}, []string{"status\tShow what runs"}},
		"of faults":  {[]string{"__complete", "break", "a"}, []string{"account-limit", "api-down"}},
		"of tiers":   {[]string{"__complete", "up", "--tier", "e"}, []string{"enterprise"}},
	} {
		t.Run(name, func(t *testing.T) {
			output, problem := said(t, c.args...)
			for _, word := range c.words {
				if problem != "" || !strings.Contains(output, word) {
					t.Errorf("%q is missing (%s):\n%s", word, problem, output)
				}
			}
			if strings.Contains(output, "supervise") || strings.Contains(output, "\n  prepare") {
				t.Error("it shows what is for up or make build alone")
			}
		})
	}
}

func TestEmptyTierAndProfileAreTheDefaults(t *testing.T) {
	opts, _, err := started("--tier=", "--profile=")
	if err != nil || opts.Tier != "standard" || opts.Profile != "fast" {
		t.Errorf("tier %q, profile %q, %v", opts.Tier, opts.Profile, err)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ args, words string }{
		"a verb that there is not": {"begin", `unknown verb "begin"`},
		"a verb nearly right":      {"statu", "did you mean status?"},
		"nothing like a verb":      {"xyzzy", "it must be one of break, completion, demo, down, logs, status, up"},
		"an argument":              {"up now", `"now"`},
		"a flag":                   {"up --teir=standard", "--teir"},
		"a number":                 {"up --port=many", `"many"`},
		"a cluster that is not up": {"status --name=nowhere", "nowhere is not running: start it with `make up CLUSTER=nowhere`"},
		"logs of one":              {"logs --name=nowhere", "nowhere is not running"},
		"breaking one":             {"break --name=nowhere api-down", "nowhere is not running"},
		"breaking without a fault": {"break --name=nowhere", "make break CLUSTER=nowhere NAME=..., with one of no-capacity, account-limit"},
	} {
		t.Run(name, func(t *testing.T) {
			output, problem := said(t, strings.Fields(c.args)...)
			if !strings.Contains(problem, c.words) || output != "" {
				t.Errorf("error %q, want %q; printed %q", problem, c.words, output)
			}
		})
	}
}

// Hints about a cluster that is not the default one name it, or the next command would be about another one.
func TestHintsNameTheCluster(t *testing.T) {
	for text, want := range map[string]string{
		"make up":        "make up CLUSTER=own",
		"make -s status": "make -s status CLUSTER=own",
		"make status; kubectl describe nodeclaims":     "make status CLUSTER=own; kubectl describe nodeclaims",
		"kubectl get nodes --watch":                    "kubectl get nodes --watch",
		"stop it with `make down` or with `make -s x`": "stop it with `make down CLUSTER=own` or with `make -s x CLUSTER=own`",
	} {
		if got := hint("own", text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if got := hint("dev", text); got != text {
			t.Errorf("%q became %q for the default cluster", text, got)
		}
	}
}

// A shell that evaluates what status prints of a cluster that does not run works on no cluster.
func TestStatusOfNothingExportsAKubeconfigThatIsNotThere(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	_, problem := said(t, "status", "--name=nowhere")
	os.Stdout = stdout
	write.Close()
	printed, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	file, is := strings.CutPrefix(strings.TrimSpace(string(printed)), "export KUBECONFIG=")
	if _, err := os.Stat(file); !is || !filepath.IsAbs(file) || !errors.Is(err, fs.ErrNotExist) || problem == "" {
		t.Errorf("printed %q, error %q", printed, problem)
	}
}
