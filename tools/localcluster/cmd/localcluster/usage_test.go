package main

import (
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
		"a cluster that is not up": {"status --name=nowhere", "nowhere is not running: start it with `make up`"},
		"logs of one":              {"logs --name=nowhere", "nowhere is not running"},
		"breaking one":             {"break --name=nowhere api-down", "nowhere is not running"},
		"breaking without a fault": {"break --name=nowhere", "make break NAME=..., with one of no-capacity, account-limit"},
	} {
		t.Run(name, func(t *testing.T) {
			output, problem := said(t, strings.Fields(c.args)...)
			if !strings.Contains(problem, c.words) || output != "" {
				t.Errorf("error %q, want %q; printed %q", problem, c.words, output)
			}
		})
	}
}
