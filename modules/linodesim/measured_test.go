package linodesim_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/probe"
)

// measure runs the probe against a world and gives the report as it is written.
func measure(t *testing.T, tier string, cfg linodesim.Config) *bytes.Buffer {
	t.Helper()
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "probed", Tier: tier, Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := probe.Run(context.Background(), probe.Config{
		Access:    probe.Access{Token: linodesim.DefaultToken, BaseURL: "https://api.example", Transport: sim.Transport()},
		ClusterID: info.ID, Out: io.Discard, Bounds: probe.Bounds{Nodes: 3, Duration: 90 * time.Minute, Budget: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	return &text
}

// A world that is made from a report of another is like it: its delays lie
// within the other's, its choices are the same.
func TestMeasuredWorldIsLikeTheOneThatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		tier      string
		profile   linodesim.Profile
		behaviour linodesim.Behaviour
	}{
		{linodesim.Standard, linodesim.Fast(), linodesim.Behaviour{}},
		{linodesim.Standard, linodesim.Realistic(),
			linodesim.Behaviour{LostLinode: linodesim.LeaveHole, LastNode: linodesim.RemovePool, IgnorePoolFilter: true}},
		{linodesim.Enterprise, linodesim.Realistic(),
			linodesim.Behaviour{LastNode: linodesim.RefuseLastDelete, AllowZeroCount: true, RefuseReservedTaintKeys: true, UnlistedNotFound: true}},
		{linodesim.Enterprise, linodesim.Slow(), linodesim.Behaviour{LenientPages: true}},
		{linodesim.Standard, linodesim.Stale(), linodesim.Behaviour{LabelForm: "node-<cluster>-<pool>-<12 hex digits>"}},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.tier, c.profile.Name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, b, err := linodesim.Measured(measure(t, c.tier, linodesim.Config{Profile: c.profile, Behaviour: c.behaviour, Seed: 11}))
				if err != nil {
					t.Fatal(err)
				}
				if b != c.behaviour {
					t.Errorf("behaviour %+v, want %+v", b, c.behaviour)
				}
				like(t, c.tier, p, c.profile)
				again, b, err := linodesim.Measured(measure(t, c.tier, linodesim.Config{Profile: p, Behaviour: b, Seed: 12}))
				if err != nil || b != c.behaviour {
					t.Errorf("measured again: %+v, %v", b, err)
				}
				like(t, c.tier, again, c.profile)
			})
		})
	}
}

// like compares the delays that a tier has, within what a reading's own time
// blurs.
func like(t *testing.T, tier string, got, want linodesim.Profile) {
	t.Helper()
	blur := 300*time.Millisecond + 3*want.Request.Max
	spans := map[string][2]linodesim.Span{
		"Request": {got.Request, want.Request}, "Join": {got.Join, want.Join}, "Gone": {got.Gone, want.Gone}, "Repair": {got.Repair, want.Repair},
		"InstanceID": {got.InstanceID, want.InstanceID},
	}
	if tier == linodesim.Enterprise {
		spans["NodeListed"], spans["Tagged"] = [2]linodesim.Span{got.NodeListed, want.NodeListed}, [2]linodesim.Span{got.Tagged, want.Tagged}
	}
	for name, s := range spans {
		late := blur + s[1].Max/20
		if name != "Request" && name != "Repair" {
			late += want.StaleReads * 3
		}
		if s[0].Min < s[1].Min-blur || s[0].Max > s[1].Max+late {
			t.Errorf("%s is %v, want it within %v", name, s[0], s[1])
		}
	}
	for name, d := range map[string][2]time.Duration{"StaleReads": {got.StaleReads, want.StaleReads},
		"StaleLists": {got.StaleLists, want.StaleLists}} {
		if d[0] > d[1] || d[0] < d[1]/4 {
			t.Errorf("%s is %v, want at most %v and at least a quarter of it", name, d[0], d[1])
		}
	}
}

func TestProfileFrom(t *testing.T) {
	if p, b, err := linodesim.ProfileFrom("stale"); err != nil || p != linodesim.Stale() || b != (linodesim.Behaviour{}) {
		t.Errorf("%+v, %+v, %v", p, b, err)
	}
	for _, c := range []struct{ name, text, words string }{
		{"schema", `{"schema":"lkeprobe/9","delays":{"gone":[]}}`, `the report's schema is "lkeprobe/9"; this program reads "lkeprobe/1"`},
		{"no JSON", `hello`, "not JSON of schema lkeprobe/1"},
		{"no delays", `{"schema":"lkeprobe/1"}`, "has no delays"},
		{"bounds", `{"schema":"lkeprobe/1","delays":{"gone":[{"at_least_ms":5,"at_most_ms":4}]}}`, "delays.gone[0] is 5 to 4 ms"},
		{"switch", `{"schema":"lkeprobe/1","delays":{"gone":[{"at_least_ms":1,"at_most_ms":4}]},"switches":{"last_node":"explodes"}}`,
			`switches.last_node is "explodes"`},
		{"label", `{"schema":"lkeprobe/1","delays":{"gone":[{"at_least_ms":1,"at_most_ms":4}]},"switches":{"label_form":"other: same"}}`,
			"must contain <12 hex digits>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := linodesim.ProfileFrom(path); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %q", err, c.words)
			}
		})
	}
	if _, _, err := linodesim.ProfileFrom("warp"); err == nil || !strings.Contains(err.Error(), "one of fast, realistic") {
		t.Errorf("error %v", err)
	}
}
