package lkeprobe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
)

// trap lets something happen at the nth write of a run.
type trap struct {
	next   http.RoundTripper
	nth    int
	before func()           // instead of sending, if it does not return
	after  func(sent error) // once the effect is there
	err    func() error     // of the write itself, after its effect
	dead   func() bool      // every request fails from then on
	mu     sync.Mutex
	writes int
}

func (x *trap) RoundTrip(r *http.Request) (*http.Response, error) {
	if x.dead != nil && x.dead() {
		return nil, errors.New("no route to host")
	}
	hit := false
	if r.Method != http.MethodGet {
		x.mu.Lock()
		x.writes++
		hit = x.writes == x.nth
		x.mu.Unlock()
	}
	if hit && x.before != nil {
		x.before()
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
	}
	response, err := x.next.RoundTrip(r)
	if hit && x.after != nil {
		x.after(err)
	}
	if hit && x.err != nil {
		return nil, x.err()
	}
	return response, err
}

// short are the experiments with all kinds of writes.
var short = []string{"rename", "delete", "replace"}

// However a run ends, and at whichever of its writes: it leaves nothing.
func TestNothingIsLeftWhenARunEndsEarly(t *testing.T) {
	for _, way := range []struct {
		name string
		set  func(x *trap, end context.CancelFunc)
	}{
		{"signal before a write", func(x *trap, end context.CancelFunc) { x.before = end }},
		{"signal after a write's effect", func(x *trap, end context.CancelFunc) { x.after = func(error) { end() } }},
		{"signal, and the answer is lost", func(x *trap, end context.CancelFunc) {
			x.err = func() error { end(); return errors.New("connection reset") }
		}},
		{"panic before a write", func(x *trap, _ context.CancelFunc) { x.before = func() { panic("a test's") } }},
		{"panic after a write's effect", func(x *trap, _ context.CancelFunc) { x.after = func(error) { panic("a test's") } }},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			for nth := 1; ; nth += every(5) {
				more := false
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, tiers[nth%2], linodesim.Config{Profile: linodesim.Fast(), Seed: uint64(nth)})
					ctx, end := context.WithCancel(t.Context())
					defer end()
					x := &trap{next: w.sim.Transport(), nth: nth}
					way.set(x, end)
					cfg := w.config()
					cfg.Access.Transport, cfg.Only = x, short
					r, err := w.run(ctx, cfg)
					time.Sleep(10 * time.Minute)
					w.unchanged()
					more = x.writes >= nth
					cleaning := strings.Contains(w.out.String(), "replace    done")
					if more && !cleaning && (r == nil || r.Audit.Stopped == "") {
						t.Errorf("write %d: the report lacks that the run ended early: %v", nth, err)
					}
					if more && !cleaning && strings.HasPrefix(way.name, "panic") && !strings.Contains(err.Error(), "panic: a test's") {
						t.Errorf("write %d: error %v", nth, err)
					}
				})
				if !more || t.Failed() {
					if nth < 10 {
						t.Errorf("only %d writes", nth)
					}
					return
				}
			}
		})
	}
}

// every is 1, and n in a short test: one of n runs.
func every(n int) int {
	if testing.Short() {
		return n
	}
	return 1
}

// A process that is killed can do nothing; clean does it.
func TestCleanRemovesWhatAKilledRunLeft(t *testing.T) {
	t.Parallel()
	removed := 0
	for nth := 1; nth < 18; nth++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, tiers[nth%2], linodesim.Config{Profile: linodesim.Fast(), Seed: uint64(nth)})
			ctx, end := context.WithCancel(t.Context())
			defer end()
			killed := false
			x := &trap{next: w.sim.Transport(), nth: nth, dead: func() bool { return killed }}
			x.after = func(error) { killed = true; end() }
			x.err = func() error { return errors.New("killed") }
			cfg := w.config()
			cfg.Access.Transport, cfg.Only = x, short
			_, ended := lkeprobe.Run(ctx, cfg)
			cfg = w.config()
			cfg.Run = ""
			n, err := lkeprobe.Clean(t.Context(), cfg)
			if err != nil {
				t.Error(err)
			}
			if n > 0 && (ended == nil || !strings.Contains(ended.Error(), "verify --cluster")) {
				t.Errorf("error %v does not name the remedy", ended)
			}
			removed += n
			time.Sleep(10 * time.Minute)
			w.unchanged()
		})
	}
	if removed < 8 {
		t.Errorf("only %d pools were left for clean to remove", removed)
	}
}

func TestCleanLeavesOtherRunsAloneWhenOneIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast()})
		for _, run := range []string{"aaaaaa", "bbbbbb"} {
			if _, err := w.sim.AddPool(w.cluster,
				linodesim.PoolSpec{Type: "g6-standard-1", Count: 1, Tags: []string{"lkeprobe-run=" + run}}); err != nil {
				t.Fatal(err)
			}
		}
		cfg := w.config()
		cfg.Run = "aaaaaa"
		if n, err := lkeprobe.Clean(t.Context(), cfg); n != 1 || err != nil {
			t.Errorf("%d pools, %v", n, err)
		}
		cfg.Confirm = func(string) (bool, error) { return false, nil }
		cfg.Run = ""
		if n, err := lkeprobe.Clean(t.Context(), cfg); n != 0 || !errors.Is(err, lkeprobe.ErrDeclined) {
			t.Errorf("declined: %d pools, %v", n, err)
		}
		cfg.Confirm = nil
		if n, err := lkeprobe.Clean(t.Context(), cfg); n != 1 || err != nil {
			t.Errorf("%d pools, %v", n, err)
		}
		time.Sleep(time.Minute)
		w.unchanged()
	})
}

// In a cluster of plain Linodes the clean-up removes the Linodes that the operator made for the run, and no other one.
func TestCleanRemovesPlainLinodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast()})
		for _, pool := range []string{"verify-aaaaaa", "default", "verify-bbbbbb"} {
			spec := linodesim.InstanceSpec{Label: "of-" + pool, Type: "g6-standard-1", Tags: []string{"karpenter.sh/nodepool=" + pool}}
			if _, err := w.sim.AddInstance(spec); err != nil {
				t.Fatal(err)
			}
		}
		cfg := w.config()
		cfg.ClusterID, cfg.Region, cfg.Run = 0, "us-ord", "aaaaaa"
		if _, err := lkeprobe.Clean(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, i := range w.sim.Snapshot().Instances {
			if strings.HasPrefix(i.Label, "of-") {
				left = append(left, i.Label)
			}
		}
		if fmt.Sprint(left) != "[of-default of-verify-bbbbbb]" {
			t.Errorf("left: %v", left)
		}
	})
}

// Faults from the first request to the last, clean-up included.
func TestNothingIsLeftThroughFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		rule linodesim.Rule
	}{
		{"500", linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Probability: 0.2}},
		{"500 after the effect", linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Probability: 0.2, AfterEffect: true}},
		{"429", linodesim.Rule{Answer: linodesim.Answer{Status: 429, RetryAfter: 2 * time.Second}, Probability: 0.05}},
		{"429 without Retry-After", linodesim.Rule{Answer: linodesim.Answer{Status: 429}, Probability: 0.05}},
		{"502 of a proxy", linodesim.Rule{Answer: linodesim.Answer{Status: 502, HTML: true}, Probability: 0.2}},
		{"connections that break after the effect", linodesim.Rule{Drop: true, AfterEffect: true, Probability: 0.2}},
		{"creations without answers", linodesim.Rule{Method: "POST", Drop: true, AfterEffect: true}},
		{"404s by mistake", linodesim.Rule{Method: "GET", Answer: linodesim.Answer{Status: 404, Reason: "Not found"}, Probability: 0.05}},
		{"lists that are two minutes old",
			linodesim.Rule{Method: "GET", Route: "/lke/clusters/{clusterId}/pools", View: linodesim.View{Stale: 2 * time.Minute}}},
		{"slow answers", linodesim.Rule{Delay: 20 * time.Second, Probability: 0.05}},
		{"deletions that fail for two minutes", linodesim.Rule{Method: "DELETE", Answer: linodesim.Answer{Status: 503}, Times: 30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2 / every(2)) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, tiers[seed%2], linodesim.Config{Profile: linodesim.Realistic(), Seed: seed})
					cfg := w.config()
					agreed := false
					cfg.Confirm = func(string) (bool, error) {
						w.sim.Fail(c.rule)
						agreed = true
						return true, nil
					}
					r, err := w.run(t.Context(), cfg)
					if !agreed || r == nil {
						t.Fatalf("no run: %v", err)
					}
					if err != nil {
						t.Errorf("%v\n%s", err, w.out.String())
					}
					time.Sleep(10 * time.Minute)
					w.unchanged()
				})
			}
		})
	}
}

func TestTokenWithoutRights(t *testing.T) {
	for _, c := range []struct {
		name   string
		scopes []string
		words  string
	}{
		{"reads only", []string{"lke:read_only", "linodes:read_only"},
			"lacks the scope lke:read_write; it has lke:read_only linodes:read_only; nothing was created"},
		{"no Linodes", []string{"lke:read_write"}, "lacks the scope linodes:read_write"},
		{"nothing", []string{"domains:read_write"}, "needs the scopes lke:read_write and linodes:read_write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast(), Tokens: map[string][]string{token: c.scopes}})
				r, err := w.run(t.Context(), w.config())
				if r != nil || err == nil || !strings.Contains(err.Error(), c.words) {
					t.Errorf("report %v, error %v, want %q", r, err, c.words)
				}
				w.unchanged()
			})
		})
	}
}

// A restricted user's token has every scope and may do little. The run ends at
// the first refusal, with a report.
func TestRestrictedUser(t *testing.T) {
	for _, route := range []string{"/lke/clusters/{clusterId}/pools", "/linode/instances/{linodeId}"} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast()})
				w.sim.Fail(linodesim.Rule{Method: method, Route: route, Answer: linodesim.Answer{Status: 403, Reason: "Unauthorized"}})
				r, err := w.run(t.Context(), w.config())
				if r == nil {
					t.Fatalf("%s %s: no report: %v", method, route, err)
				}
				time.Sleep(10 * time.Minute)
				w.unchanged()
				if method == "POST" && route[1] == 'l' && strings.Contains(route, "pools") &&
					(err == nil || !strings.Contains(err.Error(), "refused the token")) {
					t.Errorf("%s %s: error %v", method, route, err)
				}
			})
		}
	}
}

// The error and the report name each object that cannot be removed.
func TestLeftoversAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast()})
		cfg := w.config()
		cfg.Only = []string{"rename"}
		w.sim.Fail(linodesim.Rule{Method: "DELETE", Answer: linodesim.Answer{Status: 400, Reason: "This pool is locked."}})
		r, err := lkeprobe.Run(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), "left behind: pool") || !strings.Contains(err.Error(), "This pool is locked.") {
			t.Errorf("error %v", err)
		}
		if len(r.Audit.Leftovers) != 1 || !strings.Contains(fmt.Sprint(r.Audit.Leftovers), "locked") {
			t.Errorf("leftovers %q", r.Audit.Leftovers)
		}
	})
}
