package linodesim_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A late write is answered before its effect, which comes at its time even if the sender has ended.
func TestLateWrites(t *testing.T) {
	for name, rule := range map[string]linodesim.Rule{
		"504":             {Kind: linodesim.Writes},
		"another status":  {Method: "POST", Answer: linodesim.Answer{Status: 502, HTML: true}},
		"broken":          {Kind: linodesim.Writes, Drop: true},
		"not at all":      {Kind: linodesim.Writes, Hang: true},
		"only the second": {Kind: linodesim.Writes, Nth: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				_, path := addCluster(t, sim, linodesim.Standard)
				rule.Late = 30 * time.Second
				sim.Fail(rule)
				before, writes := len(sim.Snapshot().Clusters[0].Pools), max(1, rule.Nth)
				for n := range writes {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					r, err := api.try(ctx, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
					cancel()
					switch want := map[bool]int{true: rule.Status, false: 504}[rule.Status != 0]; {
					case n+1 < rule.Nth:
						before++
					case rule.Hang:
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("answered: %v, %+v", err, r)
						}
					case rule.Drop:
						if err == nil {
							t.Errorf("answered: %+v", r)
						}
					case err != nil || r.status != want:
						t.Errorf("%v, status %d, want %d", err, r.status, want)
					}
				}
				time.Sleep(15 * time.Second)
				if n := len(sim.Snapshot().Clusters[0].Pools); n != before {
					t.Errorf("%d pools before the effect, want %d", n, before)
				}
				time.Sleep(20 * time.Second)
				state := sim.Snapshot().Clusters[0]
				if n := len(state.Pools); n != before+1 {
					t.Fatalf("%d pools after the effect, want %d", n, before+1)
				}
				if p := state.Pools[before]; p.CreatedBy != "user1" {
					t.Errorf("made by %q", p.CreatedBy)
				}
			})
		})
	}
}

// A late write takes effect after writes that were sent later, and its value stays. If it cannot be carried out any more, it has no effect.
func TestLateWriteComesAfterLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		id, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1"})
		if err != nil {
			t.Fatal(err)
		}
		path := "/v4/linode/instances/" + strconv.Itoa(id)
		rule := sim.Fail(linodesim.Rule{Method: "PUT", View: linodesim.View{Late: time.Minute}, Times: 1})
		if r := api.do("PUT", path, `{"tags":["first"]}`); r.status != 504 {
			t.Errorf("status %d", r.status)
		}
		mustDo(t, api, "PUT", path, `{"tags":["second"]}`)
		time.Sleep(2 * time.Minute)
		if tags := sim.Snapshot().Instances[0].Tags; len(tags) != 1 || tags[0] != "first" {
			t.Errorf("tags %v", tags)
		}
		sim.Heal(rule)
		sim.Fail(linodesim.Rule{Method: "PUT", View: linodesim.View{Late: time.Minute}})
		api.do("PUT", path, `{"tags":["third"]}`)
		mustDo(t, api, "DELETE", path, "")
		time.Sleep(2 * time.Minute)
		if n := len(sim.Snapshot().Instances); n != 0 {
			t.Errorf("%d Linodes", n)
		}
	})
}

// During a group of wrong 404s every object is missing, and afterwards every object is there again.
func TestGroupsOfWrong404s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		c, path := addCluster(t, sim, linodesim.Standard)
		missing := linodesim.Answer{Status: 404, Reason: "Not found"}
		id := sim.Fail(linodesim.Rule{Kind: linodesim.Reads, Answer: missing, Nth: 2, For: 5 * time.Second})
		pool := path + "/pools/" + strconv.Itoa(c.Pools[0].ID)
		linode := "/v4/linode/instances/" + strconv.Itoa(c.Pools[0].Nodes[0].InstanceID)
		for n, want := range []int{200, 404, 404, 404, 200, 200} {
			if n == 4 {
				time.Sleep(5 * time.Second)
			}
			for _, one := range []string{pool, linode}[n%2:] {
				if r := api.do("GET", one, ""); r.status != want {
					t.Errorf("read %d of %s: %d, want %d", n, one, r.status, want)
				}
				if n == 0 {
					break
				}
			}
		}
		if hits := sim.Hits(id); hits != 4 {
			t.Errorf("%d hits", hits)
		}
	})
}
