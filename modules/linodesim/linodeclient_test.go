package linodesim_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func collect[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for item, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, item)
	}
	return out
}

// The project's own client, which is generated from the same description,
// works a pool through its life.
func TestLinodeClient(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		t.Run(tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, _ := newSim(t, linodesim.Config{Profile: linodesim.Realistic(), Seed: 1})
				info, _ := addCluster(t, sim, tier)
				client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				clusters := collect(t, client.ListClusters(ctx, linode.Where("label").Equal("demo")))
				if len(clusters) != 1 || clusters[0].ID != info.ID || string(*clusters[0].Tier) != tier {
					t.Fatalf("clusters %+v", clusters)
				}
				labels := map[string]string{"a": "b"}
				pool, err := client.CreatePool(ctx, info.ID, api.LKENodePoolCreate{Type: "g6-standard-2", Count: 3, Labels: &labels})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Minute)
				pool, err = client.GetPool(ctx, info.ID, pool.ID)
				if err != nil || len(pool.Nodes) != 3 || pool.Nodes[0].InstanceID == nil || pool.Labels["a"] != "b" {
					t.Fatalf("pool %+v, %v", pool, err)
				}
				byTier := linode.Where("label").Contains(fmt.Sprintf("lke%d-%d-", info.ID, pool.ID))
				if tier == linodesim.Enterprise {
					byTier = linode.And(linode.Where("tags").Equal(fmt.Sprintf("lke%d", info.ID)),
						linode.Where("tags").Equal(fmt.Sprintf("nodepool=%d", pool.ID)))
				}
				if linodes := collect(t, client.ListInstances(ctx, byTier)); len(linodes) != 3 {
					t.Fatalf("%d Linodes, want 3", len(linodes))
				}
				tags := []string{"mine"}
				updated, err := client.UpdateInstance(ctx, *pool.Nodes[0].InstanceID, api.InstanceUpdate{Tags: &tags})
				if err != nil || fmt.Sprint(updated.Tags) != "[mine]" {
					t.Errorf("tags %+v, %v", updated, err)
				}
				if err := client.DeleteNode(ctx, info.ID, pool.Nodes[0].ID); err != nil {
					t.Error(err)
				}
				if _, err := client.GetNode(ctx, info.ID, pool.Nodes[0].ID); linode.KindOf(err) != linode.KindNotFound {
					t.Errorf("the deleted node: %v", err)
				}
				if err := client.DeletePool(ctx, info.ID, pool.ID); err != nil {
					t.Error(err)
				}
				readCatalog(t, client, tier)
			})
		})
	}
}

func readCatalog(t *testing.T, client *linode.Client, tier string) {
	t.Helper()
	ctx := t.Context()
	if types := collect(t, client.ListTypes(ctx, linode.Filter{})); len(types) < 30 {
		t.Errorf("%d types", len(types))
	}
	if regions := collect(t, client.ListRegions(ctx, linode.Filter{})); len(regions) < 8 {
		t.Errorf("%d regions", len(regions))
	}
	rows, err := client.RegionAvailability(ctx, "us-ord")
	if err != nil || len(rows) == 0 {
		t.Errorf("availability %v, %v", rows, err)
	}
	if versions := collect(t, client.ListTierVersions(ctx, api.LKETier(tier))); len(versions) == 0 {
		t.Error("no versions")
	}
	if profile, err := client.GetProfile(ctx); err != nil || profile.Username == "" {
		t.Errorf("profile %+v, %v", profile, err)
	}
}

// 2,000 Linodes in 200 pools come completely, over pages of 500.
func TestManyLinodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, _ := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		addPools(t, sim, 200, 10)
		client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, i := range collect(t, client.ListInstances(t.Context(), linode.Filter{})) {
			seen[i.ID] = true
		}
		if len(seen) != 2000 {
			t.Errorf("%d Linodes, want 2000", len(seen))
		}
		for _, c := range sim.Calls() {
			if c.Route == "/linode/instances" && c.N != 4 {
				t.Errorf("%d calls for 2000 Linodes, want 4", c.N)
			}
		}
	})
}

func addPools(t testing.TB, sim *linodesim.Sim, pools, nodes int) {
	t.Helper()
	spec := linodesim.ClusterSpec{Label: "large", Tier: linodesim.Enterprise, Settled: true}
	for range pools {
		spec.Pools = append(spec.Pools,
			linodesim.PoolSpec{Type: "g6-standard-2", Count: nodes, Tags: []string{"team-a", "kubernetes.io/cluster/large=owned"}})
	}
	if _, err := sim.AddCluster(spec); err != nil {
		t.Fatal(err)
	}
}

// A debugging run prints and dumps everything: calls, errors, requests
// without their headers, the page, the admin interface's lists. The token is
// in none of it.
func TestTokenIsNowhereInADebuggingRun(t *testing.T) {
	const secret = "f00dfeedc0ffee5ecret0token0of0this0test"
	synctest.Test(t, func(t *testing.T) {
		var printed bytes.Buffer
		logger := slog.New(slog.NewJSONHandler(&printed, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
		show := func(what string, values ...any) {
			for _, v := range values {
				logger.Debug(what, "value", v)
				fmt.Fprintf(&printed, "%v %+v %#v %s %q\n", v, v, v, v, v)
			}
		}
		sim, err := linodesim.New(linodesim.Config{Profile: even(), Tokens: map[string][]string{secret: {"*"}}, ValidateAnswers: true})
		if err != nil {
			t.Fatal(err)
		}
		info, path := addCluster(t, sim, linodesim.Standard)
		client, err := linode.New(linode.Config{
			Token: linode.StaticToken(secret), Transport: sim.Transport(), Observer: func(c linode.Call) { show("call", c) },
		})
		if err != nil {
			t.Fatal(err)
		}
		pool := info.Pools[0]
		for _, rule := range []linodesim.Rule{
			{}, {Answer: linodesim.Answer{Status: 503}}, {Answer: linodesim.Answer{Status: 429, RetryAfter: time.Second}}, {Drop: true},
			{Drop: true, AfterEffect: true}, {Answer: linodesim.Answer{Status: 502, HTML: true}}, {Delay: time.Minute},
		} {
			sim.Fail(rule)
			_, create := client.CreatePool(t.Context(), info.ID, api.LKENodePoolCreate{Type: "g6-nanode-1", Count: 1})
			_, list := linode.Collect(client.ListInstances(t.Context(), linode.Where("label").Contains("lke")))
			_, update := client.UpdateInstance(t.Context(), pool.Nodes[0].InstanceID, api.InstanceUpdate{Tags: &[]string{"x"}})
			show("errors", create, list, update, client.DeleteNode(t.Context(), info.ID, "none"))
			for _, err := range []error{create, list, update} {
				for ; err != nil; err = errors.Unwrap(err) {
					show("cause", err)
				}
			}
			sim.HealAll()
		}
		show("client", client)
		show("simulator", sim.Calls(), sim.RecentCalls(), sim.Audit(), sim.Meters(), sim.Unknown(), sim.Violations(), sim.Snapshot())
		for _, list := range []string{"state", "calls", "audit", "meters", "unknown", "violations"} {
			_, text := page(t, sim.Admin(), "GET", "/"+list, "")
			printed.WriteString(text)
		}
		_, text := page(t, sim.Page(), "GET", "/", "")
		printed.WriteString(text)
		if printed.Len() < 50_000 || !strings.Contains(printed.String(), path) {
			t.Errorf("only %d bytes were printed", printed.Len())
		}
		if at := strings.Index(printed.String(), secret); at >= 0 {
			t.Errorf("the token shows in ...%s...", printed.String()[max(0, at-200):at+20])
		}
	})
}
