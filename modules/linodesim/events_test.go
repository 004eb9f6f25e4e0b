package linodesim_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// feed collects events with the time at which they came.
type feed struct {
	start  time.Time
	events []linodesim.Event
	log    []string
}

func follow(ctx context.Context, sim *linodesim.Sim) *feed {
	f := &feed{start: time.Now()}
	events := sim.Subscribe(ctx)
	go func() {
		for e := range events {
			f.events = append(f.events, e)
			f.log = append(f.log, fmt.Sprintf("%v %s pool %d", time.Since(f.start), e.Kind, e.PoolID))
		}
		f.log = append(f.log, "closed")
	}()
	return f
}

func TestEvents(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		t.Run(tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: even()})
				info, path := addCluster(t, sim, tier)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f := follow(ctx, sim)
				first := info.Pools[0].ID
				got := mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-4","count":1,"labels":{"a":"b"},"tags":["team-a"]}`)
				pool := int(got.body["id"].(float64))
				time.Sleep(200 * time.Second) // without a request; the events come by themselves
				one := fmt.Sprintf("%s/pools/%d", path, pool)
				mustDo(t, api, "PUT", one, `{"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}`)
				time.Sleep(10 * time.Second)
				mustDo(t, api, "PUT", one, `{"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}`)
				mustDo(t, api, "DELETE", one, "")
				time.Sleep(10 * time.Second)
				cancel()
				synctest.Wait()
				want := []string{
					fmt.Sprintf("0s joins pool %d", first), fmt.Sprintf("1m50s joins pool %d", pool),
					fmt.Sprintf("3m20s changed pool %d", pool), fmt.Sprintf("3m35s gone pool %d", pool), "closed",
				}
				if fmt.Sprint(f.log) != fmt.Sprint(want) {
					t.Fatalf("events %v\nwant %v", f.log, want)
				}
				checkEvent(t, f.events[1], info)
				if e := f.events[2]; len(e.Taints) != 1 || e.Taints[0].Effect != "NoExecute" || e.Labels["a"] != "b" {
					t.Errorf("changed event %+v", e)
				}
			})
		})
	}
}

// An event has all that a Kubernetes Node is made from.
func checkEvent(t *testing.T, e linodesim.Event, info linodesim.ClusterInfo) {
	t.Helper()
	want := fmt.Sprintf("lke%d-%s", info.ID, e.NodeID)
	if e.Name != want || e.Cluster.ID != info.ID || e.Cluster.Label != "demo" || e.Cluster.Tier != info.Tier {
		t.Errorf("name %q of %+v, want %q", e.Name, e.Cluster, want)
	}
	if e.Type != "g6-standard-4" || e.VCPUs != 4 || e.MemoryMB != 8192 || e.DiskMB != 163840 || e.GPUs != 0 || e.Region != "us-ord" {
		t.Errorf("plan of %+v", e)
	}
	if e.InstanceID == 0 || e.HostUUID == "" || e.PublicIPv4 == "" || e.PrivateIPv4 == "" || e.IPv6 == "" || e.K8sVersion != info.K8sVersion {
		t.Errorf("Linode of %+v", e)
	}
	if e.Labels["a"] != "b" || len(e.PoolTags) != 1 {
		t.Errorf("labels %v, pool tags %v", e.Labels, e.PoolTags)
	}
}

func TestEveryNodeJoinsAndLeavesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Realistic(), Seed: 3, NoRateLimits: true})
		_, path := addCluster(t, sim, linodesim.Enterprise)
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, sim)
		for range 5 {
			mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-1","count":20}`)
			time.Sleep(40 * time.Second)
		}
		late := follow(ctx, sim)
		for _, p := range sim.Snapshot().Clusters[0].Pools {
			time.Sleep(30 * time.Second)
			mustDo(t, api, "DELETE", fmt.Sprintf("%s/pools/%d", path, p.ID), "")
		}
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		for name, f := range map[string]*feed{"first": f, "late": late} {
			state := map[string]string{}
			for _, e := range f.events {
				switch {
				case e.Kind == linodesim.NodeJoins && state[e.Name] != "":
					t.Errorf("%s subscriber: %s joins after %s", name, e.Name, state[e.Name])
				case e.Kind == linodesim.NodeGone && state[e.Name] == string(linodesim.NodeGone):
					t.Errorf("%s subscriber: %s goes twice", name, e.Name)
				}
				state[e.Name] = string(e.Kind)
			}
			for n, s := range state {
				if s != string(linodesim.NodeGone) {
					t.Errorf("%s subscriber: %s is left as %s", name, n, s)
				}
			}
			if len(state) < 90 {
				t.Errorf("%s subscriber saw %d nodes", name, len(state))
			}
		}
	})
}

func TestAuditSaysWhoDidWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		info, path := addCluster(t, sim, linodesim.Standard)
		before := len(sim.Audit())
		got := mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1,"tags":["owner=me","team"]}`)
		pool := int(got.body["id"].(float64))
		time.Sleep(2 * time.Minute)
		linode := workers(sim, pool)[0]
		mustDo(t, api, "PUT", fmt.Sprintf("/v4beta/linode/instances/%d", linode), `{"tags":["mine"]}`)
		count := 2
		if err := sim.EditPool(info.ID, pool, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		if err := sim.DeletePool(info.ID, pool); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		var log []string
		for _, e := range sim.Audit()[before:] {
			text := e.Actor.User + " " + e.Action
			if e.Actor.RequestID != "" {
				text = "request: " + text
			}
			if e.Action != "instance.create" && e.Before+e.After != "" {
				text += " " + e.Before + ">" + e.After
			}
			if e.Tags != "" {
				text += " " + e.Tags
			}
			log = append(log, text)
		}
		want := []string{
			"request: user1 pool.create >1 owner=me,team", "request: user1 node.request", "lke instance.create",
			"lke instance.status offline>booting",
			"lke instance.status booting>running", "lke node.join", "request: user1 instance.tags >mine",
			"owner pool.count 1>2", "owner node.request", "owner node.remove", "lke instance.deleting running>deleting", "owner node.remove",
			"owner pool.delete 2>", "lke instance.gone mine>",
		}
		if fmt.Sprint(log) != fmt.Sprint(want) {
			t.Errorf("audit\n%q\nwant\n%q", log, want)
		}
	})
}
