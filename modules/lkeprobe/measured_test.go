package lkeprobe_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
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
	r, err := lkeprobe.Run(context.Background(), lkeprobe.Config{
		Access:    lkeprobe.Access{Token: linodesim.DefaultToken, BaseURL: "https://api.example", Transport: sim.Transport()},
		ClusterID: info.ID, Out: io.Discard, Bounds: lkeprobe.Bounds{Duration: 3 * time.Hour, Budget: 1},
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
