package lkeprobe_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
)

// milliseconds are numbers of the report that may be equal to an ID by chance.
var milliseconds = regexp.MustCompile(`("\w+_ms": )\d+`)

const token = "s3cret0token0of0the0probe0test"

// world is a simulator with the cluster of the probe, and with
// objects of other owners.
type world struct {
	t       *testing.T
	sim     *linodesim.Sim
	cluster int
	before  linodesim.State
	out     bytes.Buffer
}

func newWorld(t *testing.T, tier string, cfg linodesim.Config) *world {
	t.Helper()
	if cfg.Tokens == nil {
		cfg.Tokens = map[string][]string{token: {"*"}}
	}
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pool := linodesim.PoolSpec{Type: "g6-standard-2", Count: 2, Tags: []string{"acme"}, Labels: map[string]string{"acme": "acme"}}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "probed", Tier: tier, Settled: true, Pools: []linodesim.PoolSpec{pool}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sim.AddCluster(linodesim.ClusterSpec{Label: "other", Tier: tier, Settled: true,
		Pools: []linodesim.PoolSpec{pool}}); err != nil {
		t.Fatal(err)
	}
	if _, err := sim.AddInstance(linodesim.InstanceSpec{Label: "acme-db", Type: "g6-standard-1", Region: "us-ord"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour) // until it all has settled
	return &world{t: t, sim: sim, cluster: info.ID, before: sim.Snapshot()}
}

func (w *world) config() lkeprobe.Config {
	return lkeprobe.Config{
		Access:    lkeprobe.Access{Token: token, BaseURL: "https://api.example", Transport: w.sim.Transport()},
		ClusterID: w.cluster, Out: &w.out, Run: "feedc0de",
		Bounds: lkeprobe.Bounds{Duration: 90 * time.Minute, Budget: 1},
	}
}

// unchanged fails when anything is left, or was touched that is not the run's.
func (w *world) unchanged() {
	w.t.Helper()
	after := w.sim.Snapshot()
	w.before.At, after.At = time.Time{}, time.Time{}
	if !reflect.DeepEqual(w.before, after) {
		w.t.Errorf("the account is not as it was before:\n%s\nwas\n%s\n%s", summary(after), summary(w.before), w.out.String())
	}
	pools, linodes := map[int]bool{}, map[int]bool{}
	for _, c := range w.before.Clusters {
		for _, p := range c.Pools {
			pools[p.ID] = true
		}
	}
	for _, i := range w.before.Instances {
		linodes[i.ID] = true
	}
	for _, e := range w.sim.Audit() {
		if e.Actor.User == "user1" && (pools[e.PoolID] || linodes[e.InstanceID] || e.ClusterID != 0 && e.ClusterID != w.cluster) {
			w.t.Errorf("the probe touched what is not its own: %+v", e)
		}
	}
}

func summary(s linodesim.State) string {
	var b strings.Builder
	for _, c := range s.Clusters {
		for _, p := range c.Pools {
			fmt.Fprintf(&b, "cluster %d pool %d count %d tags %v\n", c.ID, p.ID, p.Count, p.Tags)
		}
	}
	for _, i := range s.Instances {
		fmt.Fprintf(&b, "Linode %d %s %s %v\n", i.ID, i.Label, i.Status, i.Tags)
	}
	return b.String()
}

func (w *world) run(ctx context.Context, cfg lkeprobe.Config) (*report.Report, error) {
	w.t.Helper()
	r, err := lkeprobe.Run(ctx, cfg)
	if r != nil {
		var text bytes.Buffer
		if err := r.Write(&text); err != nil {
			w.t.Fatal(err)
		}
		if err := lkeprobe.Markdown(&text, r); err != nil {
			w.t.Fatal(err)
		}
		found := milliseconds.ReplaceAllString(text.String(), "$1")
		canaries := []string{token, "acme", "probed", fmt.Sprint(w.cluster), "198.51.100", "192.168.", "2001:db8"}
		for _, c := range w.before.Clusters {
			for _, p := range c.Pools {
				canaries = append(canaries, fmt.Sprint(p.ID))
			}
		}
		for _, i := range w.sim.Snapshot().Instances {
			canaries = append(canaries, fmt.Sprint(i.ID), i.Label)
		}
		for _, secret := range canaries {
			if at := strings.Index(found, secret); at >= 0 {
				w.t.Errorf("the report has %q: ...%s...", secret, found[max(0, at-200):min(len(found), at+60)])
			}
		}
	}
	return r, err
}

// profiles are the profiles in which answers are late, but never contradict each other.
func profiles() []linodesim.Profile {
	return []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()}
}

var tiers = []string{linodesim.Standard, linodesim.Enterprise}

// spans pairs what a report measured with what the profile has.
func spans(tier string, p linodesim.Profile) map[string]linodesim.Span {
	out := map[string]linodesim.Span{
		report.Request: p.Request, report.LinodeListed: p.InstanceID, report.Ready: p.Join, report.Gone: p.Gone, report.Repair: p.Repair,
	}
	if tier == linodesim.Enterprise {
		out[report.NodeEntry], out[report.LinodeTagged] = p.NodeListed, p.Tagged
	} else {
		out[report.InstanceID] = p.InstanceID
	}
	return out
}

// TestReportReproducesTheProfile is the probe's own test: it measures the
// simulator's profile.
func TestReportReproducesTheProfile(t *testing.T) {
	for _, tier := range tiers {
		for _, p := range profiles() {
			t.Run(tier+"/"+p.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, tier, linodesim.Config{Profile: p, Seed: 5})
					r, err := w.run(t.Context(), w.config())
					if err != nil {
						t.Fatalf("%v\n%s", err, w.out.String())
					}
					w.unchanged()
					if r.Audit.Stopped != "" || len(r.Audit.Refused) > 0 || len(r.Audit.Leftovers) > 0 || r.Audit.Foreign != 0 ||
						len(r.Audit.Anomalies) > 0 {
						t.Errorf("audit %+v", r.Audit)
					}
					for name, span := range spans(tier, p) {
						within(t, r, name, span, 5*time.Second+4*p.Request.Max)
					}
					for _, f := range r.Facts {
						if f.Verdict == report.NotSettled || f.Verdict == report.NotRun {
							t.Errorf("%s: %s: %s", f.ID, f.Verdict, f.Seen)
						}
					}
					t.Logf("%d requests in %v\n%s", r.Audit.Requests, time.Duration(r.TookMS)*time.Millisecond, w.out.String())
					var table bytes.Buffer
					lkeprobe.Table(&table, r)
					t.Log("\n" + table.String())
				})
			})
		}
	}
}

// within demands that each sample may have come from the span, and that the
// bounds are narrow.
func within(t *testing.T, r *report.Report, name string, span linodesim.Span, width time.Duration) {
	t.Helper()
	if len(r.Delays[name]) == 0 {
		t.Errorf("%s was not measured", name)
	}
	for _, s := range r.Delays[name] {
		least, most := time.Duration(s.AtLeast)*time.Millisecond, time.Duration(s.AtMost+1)*time.Millisecond
		if most < span.Min || least > span.Max {
			t.Errorf("%s was %v to %v, and the profile has %v to %v", name, least, most, span.Min, span.Max)
		}
		if most-least > width+most/5 {
			t.Errorf("%s was %v to %v: too wide", name, least, most)
		}
	}
}

// In profiles whose reads lag, the report has the lags, too.
func TestReportReproducesLags(t *testing.T) {
	for _, tier := range tiers {
		for _, p := range []linodesim.Profile{linodesim.Stale(), linodesim.Hostile()} {
			t.Run(tier+"/"+p.Name, func(t *testing.T) {
				if testing.Short() && p.Name == "stale" {
					t.Skip("-short runs one of the profiles that lag: hostile")
				}
				t.Parallel()
				var reads, lists time.Duration
				for seed := range uint64(6 / every(3)) { // each reading draws its own lag, and a run has few
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, tier, linodesim.Config{Profile: p, Seed: seed})
						cfg := w.config()
						cfg.Bounds.Duration = 3 * time.Hour
						r, err := w.run(t.Context(), cfg)
						if err != nil {
							t.Fatalf("%v\n%s", err, w.out.String())
						}
						time.Sleep(10 * time.Minute)
						w.unchanged()
						reads = max(reads, longest(r, report.PoolReadLag, report.LinodeReadLag))
						lists = max(lists, longest(r, report.PoolListLag, report.LinodeListLag))
						within(t, r, report.Repair, linodesim.Span{Min: p.Repair.Min, Max: p.Repair.Max + p.StaleReads}, time.Minute)
						if p.Name == "hostile" && len(r.Audit.Anomalies) == 0 {
							t.Error("nothing contradicted anything")
						}
						t.Logf("%v\n%s", r.Audit.Anomalies, w.out.String())
						var table bytes.Buffer
						lkeprobe.Table(&table, r)
						t.Log("\n" + table.String())
					})
				}
				lagging(t, "reads", reads, p.StaleReads)
				lagging(t, "lists", lists, p.StaleLists)
			})
		}
	}
}

// lagging demands that the longest lag of all runs is near the profile's, and
// none above. Each reading draws its own lag, so a single run may meet short ones.
func lagging(t *testing.T, what string, lag, limit time.Duration) {
	t.Helper()
	if lag > limit || lag < limit/3 {
		t.Errorf("%s: the longest lag is %v, and the profile has up to %v", what, lag, limit)
	}
}

// longest is the longest lag that was proven.
func longest(r *report.Report, names ...string) time.Duration {
	var ms int64
	for _, name := range names {
		for _, s := range r.Delays[name] {
			ms = max(ms, s.AtLeast)
		}
	}
	return time.Duration(ms) * time.Millisecond
}
