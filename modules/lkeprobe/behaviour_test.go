package lkeprobe_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
)

// behaviours are the choices that a probe can find out, and what it must find.
var behaviours = []struct {
	name, tier string
	behaviour  linodesim.Behaviour
	only       string
	want       map[string]string
}{
	{"defaults", linodesim.Standard, linodesim.Behaviour{}, "", map[string]string{
		report.LastNode: report.ValuePoolKept, report.LostLinode: report.ValueRecreated, report.PoolFilter: report.ValueHonoured,
		report.ReservedTaintKeys: report.ValueAccepted, report.PageBeyondEnd: report.ValueNotFound, report.LabelForm: report.ValueLKELabel,
	}},
	{"defaults of Enterprise", linodesim.Enterprise, linodesim.Behaviour{}, "", map[string]string{
		report.ZeroCount: report.ValueRefused, report.UnlistedNode: report.ValueFound,
	}},
	{"hole", linodesim.Standard, linodesim.Behaviour{LostLinode: linodesim.LeaveHole}, "replace",
		map[string]string{report.LostLinode: report.ValueLeft}},
	{"pool goes", linodesim.Standard, linodesim.Behaviour{LastNode: linodesim.RemovePool}, "delete",
		map[string]string{report.LastNode: report.ValuePoolRemoved}},
	{"last refused", linodesim.Enterprise, linodesim.Behaviour{LastNode: linodesim.RefuseLastDelete}, "delete",
		map[string]string{report.LastNode: report.ValueRefused}},
	{"zero", linodesim.Enterprise, linodesim.Behaviour{AllowZeroCount: true}, "refusals",
		map[string]string{report.ZeroCount: report.ValueAccepted}},
	{"taint keys", linodesim.Standard, linodesim.Behaviour{RefuseReservedTaintKeys: true}, "refusals",
		map[string]string{report.ReservedTaintKeys: report.ValueRefused}},
	{"filters and pages", linodesim.Standard, linodesim.Behaviour{IgnorePoolFilter: true, LenientPages: true}, "filter", map[string]string{
		report.PoolFilter: report.ValueIgnored, report.PageBeyondEnd: report.ValueEmptyPage,
	}},
	{"unlisted", linodesim.Enterprise, linodesim.Behaviour{UnlistedNotFound: true}, "arrival",
		map[string]string{report.UnlistedNode: report.ValueNotFound}},
}

func TestReportFindsOutWhatIsChosen(t *testing.T) {
	for _, c := range behaviours {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.tier, linodesim.Config{Profile: linodesim.Realistic(), Behaviour: c.behaviour, Seed: 3})
				cfg := w.config()
				if c.only != "" {
					cfg.Only = []string{c.only}
				}
				r, err := w.run(t.Context(), cfg)
				if err != nil {
					t.Fatalf("%v\n%s", err, w.out.String())
				}
				w.unchanged()
				for name, want := range c.want {
					if r.Switches[name] != want {
						t.Errorf("%s is %q, want %q", name, r.Switches[name], want)
					}
				}
			})
		})
	}
}

func TestNothingIsCreatedWithoutAgreement(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*lkeprobe.Config)
		words  string
	}{
		{"dry run", func(c *lkeprobe.Config) { c.DryRun = true }, ""},
		{"declined", func(c *lkeprobe.Config) { c.Confirm = func(string) (bool, error) { return false, nil } }, "you did not agree"},
		{"no answer", func(c *lkeprobe.Config) {
			c.Confirm = func(string) (bool, error) { return true, errors.New("no terminal") }
		}, "no terminal"},
		{"budget", func(c *lkeprobe.Config) { c.Bounds.Budget = 0.1 }, "--budget is 0.10"},
		{"cluster", func(c *lkeprobe.Config) { c.ClusterID = 12 }, "no such LKE cluster"},
		{"no cluster", func(c *lkeprobe.Config) { c.ClusterID = 0 }, "--cluster is 0"},
		{"experiment", func(c *lkeprobe.Config) { c.Only = []string{"nope"} }, `--only names "nope"; known names: filter, limits`},
		{"run", func(c *lkeprobe.Config) { c.Run = "a" }, `the run is "a"; it must have 6 to 12`},
		{"no token", func(c *lkeprobe.Config) { c.Access.Token = "" }, "LINODE_TOKEN is empty"},
		{"wrong token", func(c *lkeprobe.Config) { c.Access.Token = "other" }, "does not accept LINODE_TOKEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast()})
				cfg := w.config()
				c.change(&cfg)
				r, err := lkeprobe.Run(t.Context(), cfg)
				if r != nil || c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
					t.Errorf("report %v, error %v, want %q", r, err, c.words)
				}
				if strings.Contains(w.out.String(), token) || err != nil && strings.Contains(err.Error(), token) {
					t.Error("the token was printed")
				}
				for _, call := range w.sim.Calls() {
					if call.Method != http.MethodGet {
						t.Errorf("%s %s was sent", call.Method, call.Route)
					}
				}
			})
		})
	}
}

// Tags that the run made are deleted from the account's list, if the token may.
func TestTagsOfTheRunAreDeleted(t *testing.T) {
	for name, scopes := range map[string][]string{"may": {"*"}, "may not": {"lke:read_write", "linodes:read_write"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, linodesim.Standard, linodesim.Config{Profile: linodesim.Fast(), Tokens: map[string][]string{token: scopes}})
				cfg := w.config()
				cfg.Only = []string{"rename", "tags"}
				if _, err := w.run(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, c := range w.sim.Calls() {
					if c.Method == http.MethodDelete && c.Route == "/tags/{tagLabel}" {
						n += c.N
					}
				}
				if name == "may" && n < 100 || name == "may not" && (n != 1 || !strings.Contains(w.out.String(), "until Linode purges them")) {
					t.Errorf("%d deletions\n%s", n, w.out.String())
				}
				w.unchanged()
			})
		})
	}
}
