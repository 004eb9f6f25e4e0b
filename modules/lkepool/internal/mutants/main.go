// Command mutants proves that the tests of this module can fail: it takes one
// safeguard after another out of a copy of the engine and expects the tests to
// turn red. It ends with status 1 when a mutant survives. Run it in the module's
// folder:
//
//	go run ./internal/mutants [-schedules 300] [-only name]
//
// It is called by people and by `make mutants`, and changes nothing but a
// temporary directory, which it removes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// mutant is one safeguard less.
type mutant struct {
	name, file, old, new string
	more                 []change
}

// change is a further change in the mutant's file.
type change struct{ old, new string }

var mutants = []mutant{
	{"the deficit has no pending term", "scale.go", "plan.Deficit(len(p.left), 0, pending)", "plan.Deficit(len(p.left), 0, 0*pending)", nil},
	{"no reservation", "marks.go",
		"if m, ok := l.marks[instanceID]; ok && (tag == \"\" || m.state != marked) {",
		"if m, ok := l.marks[instanceID]; ok && false && m != nil {", nil},
	{"no lock while collecting", "collect.go", "unlock, err := a.keys.Lock(ctx, hash)", "unlock, err := func() {}, error(nil)", nil},
	{"not found without a 404", "lke/failure.go", "e := &lkepool.Error{Kind: lkepool.KindUnavailable,", "e := &lkepool.Error{Kind: lkepool.KindNotFound,", nil},
	{"claims are not given back", "pass.go", "at, seen := p.view.places[claim]", "at, seen := place{}, false", nil},
	{"the last node leaves an empty pool", "internal/plan/plan.go", "if len(targets) < count {", "if len(targets) <= count {", nil},
	{"the pool's list decides, not its count", "release.go", "if pool.Count > 1 {", "if len(pool.Slots) > 1 {", []change{
		{"plan.Remove(fresh.Count, targets)", "plan.Remove(len(fresh.Slots), targets)"},
		{"if pool.Count != 1 || len(pool.Slots) != 1 {", "if len(pool.Slots) != 1 {"},
	}},
	{"lost creations are repeated at once", "scale.go", "if a.cfg.Clock.Now().Before(p.q.hold) {", "if false {", nil},
	{"what this process wrote is forgotten", "ledger.go", "func (l *ledger) recent(at, began time.Time) bool { return began.Before(at.Add(l.settle)) }", "func (l *ledger) recent(at, began time.Time) bool { return false && began.Before(at) }", nil},
	{"a claim is as old as its instance", "collect.go", "s.age(member, claim, claimedAtOf(member.Tags))", "s.age(member, claim, member.Created)", nil},
	{"free nodes are collected under those who wait", "collect.go", "plan.Surplus(idle, a.demand(q, a.cfg.OrphanTTL), a.cfg.OrphanTTL)", "plan.Surplus(idle, 0*a.demand(q, a.cfg.OrphanTTL), 0)", nil},
	{"foreign pools count as ours", "pool.go", "return slices.Contains(p.Tags, ManagedTag) && p.keyHash() != \"\"", "return true || slices.Contains(p.Tags, ManagedTag)", nil},
	{"tags replace claims", "settags.go", "tags := slices.DeleteFunc(slices.Clone(instance.Tags), func(tag string) bool {", "tags := slices.DeleteFunc(slices.Clone(instance.Tags[:0]), func(tag string) bool {", nil},
	{"edited pools fit", "pool.go", "return !p.Autoscaled && p.InstanceType == key.InstanceType &&", "return true || !p.Autoscaled && p.InstanceType == key.InstanceType &&", nil},
	{"a new process trusts the first list", "allocator.go", "return a.cfg.Clock.Now().Before(a.born.Add(a.cfg.TagVerificationTimeout))", "return false && a.cfg.Clock.Now().Before(a.born.Add(a.cfg.TagVerificationTimeout))", nil},
	{"the wrong one of two nodes is kept", "marks.go", "if handedA != handedB {\n\t\treturn handedA", "if handedA != handedB {\n\t\treturn handedB", nil},
	{"overdue places stay", "leftover.go", "s.a.cfg.Clock.Since(since) > s.a.cfg.PendingTimeout", "s.a.cfg.Clock.Since(since) < 0", nil},
	{"Linodes that are not listed are gone", "leftover.go", "case \"\":\n\t\treturn false, nil", "case \"\":\n\t\treturn true, nil", nil},
	{"room below the account's limit is not used", "scale.go", "KindOf(err) != KindQuotaExceeded || step.Add == 1", "KindOf(err) != KindQuotaExceeded || step.Add >= 1", nil},
	{"replaced instances hold their places", "view.go", "Absent: pool.absent()}", "Absent: 0 * pool.absent()}", nil},
	{"keys do not share what they read", "share.go", "usable := !o.began.IsZero()", "usable := false && !o.began.IsZero()", nil},
	{"lowered counts are raised for ever", "scale.go", "if q.lowered >= mostLowered {", "if q.lowered >= 1000*mostLowered {", nil},
	{"nodes go without leave", "vacate.go", "s.vacated[node.InstanceID] = vacant && err == nil", "s.vacated[node.InstanceID] = true || vacant && err == nil", nil},
	{"leaving instances hold their places", "ledger.go", "return gone || m.State == Leaving", "return gone || false && m.State == Leaving", nil},
	{"counts that were raised meanwhile are lowered", "scale.go", "fresh.Count != step.Count-step.Add", "fresh.Count < step.Count-step.Add", nil},
	{"a poll is enough to buy on", "scale.go", "if !p.view.whole() {", "if false && !p.view.whole() {", nil},
	{"lost places are overlooked", "scale.go", "|| p.view.misses(fresh) ||", "|| false && p.view.misses(fresh) ||", nil},
	{"refusals are retried in place", "pass.go", "case KindInvalid, KindForbidden, KindConflict, KindInsufficientCapacity, KindQuotaExceeded:", "case KindInvalid, KindForbidden, KindConflict:", nil},
}

func main() {
	schedules := flag.Int("schedules", 300, "random schedules per mutant")
	only := flag.String("only", "", "run the mutants whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := run(ctx, *schedules, *only)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
	case len(survivors) > 0:
		fmt.Fprintf(os.Stderr, "mutants: %d survived: %s\n", len(survivors), strings.Join(survivors, "; "))
	default:
		fmt.Println("mutants: ok, none survived")
		return
	}
	stop()
	os.Exit(1)
}

func run(ctx context.Context, schedules int, only string) (survivors []string, err error) {
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		red, why, err := m.try(ctx, schedules)
		if err != nil {
			return survivors, fmt.Errorf("%s: %w", m.name, err)
		}
		if !red {
			survivors = append(survivors, m.name)
			why = "SURVIVED"
		}
		fmt.Printf("%-50s %s\n", m.name, why)
	}
	return survivors, ctx.Err()
}

// try runs the tests over a copy with the mutation.
func (m mutant) try(ctx context.Context, schedules int) (red bool, why string, err error) {
	home, err := filepath.Abs(".")
	if err != nil {
		return false, "", err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, os.DirFS(home)); err != nil {
		return false, "", err
	}
	if err := edit(filepath.Join(dir, "go.mod"), "=> ../", "=> "+filepath.Dir(home)+"/", -1); err != nil {
		return false, "", err
	}
	if err := edit(filepath.Join(dir, m.file), m.old, m.new, 1); err != nil {
		return false, "", err
	}
	for _, c := range m.more {
		if err := edit(filepath.Join(dir, m.file), c.old, c.new, 1); err != nil {
			return false, "", err
		}
	}
	build := exec.CommandContext(ctx, "go", "vet", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return false, "", fmt.Errorf("the mutant does not build: %w: %s", err, out)
	}
	test := exec.CommandContext(ctx, "go", "test", "-failfast", "-timeout", "10m", ".", fmt.Sprintf("-schedules=%d", schedules), "-validate=50")
	test.Dir, test.Env = dir, build.Env
	out, err := test.CombinedOutput()
	if ctx.Err() != nil {
		return false, "", ctx.Err()
	}
	return err != nil, "red by " + firstFailure(string(out)), nil
}

func firstFailure(out string) string {
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			return name
		}
	}
	return "a panic or a timeout"
}

func edit(file, old, new string, times int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s does not contain %q: the list of mutants is out of date", filepath.Base(file), old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), old, new, times)), 0o600)
}
