package linodesim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// liedTo has one pool that a client made, for the tests of lies.
type liedTo struct {
	client
	cluster, pools, pool string // paths
	t                    *testing.T
}

func (a liedTo) get() map[string]any { return mustDo(a.t, a.client, "GET", a.pool, "").body }

func (a liedTo) count() int { return int(a.get()["count"].(float64)) }

// linodes lists the IDs that the entries of the pool have.
func (a liedTo) linodes() []int {
	var ids []int
	for _, n := range a.get()["nodes"].([]any) {
		if id, ok := n.(map[string]any)["instance_id"].(float64); ok {
			ids = append(ids, int(id))
		}
	}
	return ids
}

func (a liedTo) tags(path string) int {
	return len(mustDo(a.t, a.client, "GET", path, "").body["tags"].([]any))
}

// Each lie about the account has the time and the object that its constant has, and without the lie the platform behaves well.
func TestLies(t *testing.T) {
	const made = `{"type":"g6-standard-2","count":2,"tags":["team=a"]}`
	for about, broken := range map[report.Assumption]func(t *testing.T, a liedTo) bool{
		report.LateIDs: func(t *testing.T, a liedTo) bool {
			time.Sleep(linodesim.LieID - time.Minute)
			early := len(a.linodes())
			time.Sleep(2 * time.Minute)
			if len(a.linodes()) != 2 {
				t.Errorf("%v after more than %v", a.linodes(), linodesim.LieID)
			}
			return early == 0
		},
		report.OldLists: func(t *testing.T, a liedTo) bool {
			mustDo(t, a.client, "PUT", a.pool, `{"tags":["team=b"]}`)
			time.Sleep(linodesim.LieList - time.Minute)
			old := !strings.Contains(mustDo(t, a.client, "GET", a.pools, "").raw, "team=b")
			time.Sleep(2 * time.Minute)
			if !strings.Contains(mustDo(t, a.client, "GET", a.pools, "").raw, "team=b") {
				t.Errorf("the list is older than %v", linodesim.LieList)
			}
			return old
		},
		report.OldReads: func(t *testing.T, a liedTo) bool {
			time.Sleep(2 * linodesim.LieRead) // before that a read does not show the pool at all
			mustDo(t, a.client, "PUT", a.pool, `{"tags":["team=b"]}`)
			time.Sleep(linodesim.LieRead / 2)
			old := !strings.Contains(mustDo(t, a.client, "GET", a.pool, "").raw, "team=b")
			time.Sleep(linodesim.LieRead)
			if !strings.Contains(mustDo(t, a.client, "GET", a.pool, "").raw, "team=b") {
				t.Errorf("the read is older than %v", linodesim.LieRead)
			}
			return old
		},
		report.LateWrites: func(t *testing.T, a liedTo) bool {
			late := a.do("PUT", a.pool, `{"count":3}`).status == 504
			time.Sleep(linodesim.LieWrite - time.Second)
			late = late && a.count() == 2
			time.Sleep(2 * time.Second)
			if a.count() != 3 {
				t.Errorf("no effect after %v", linodesim.LieWrite)
			}
			return late
		},
		report.LostTags: func(t *testing.T, a liedTo) bool {
			time.Sleep(time.Minute)
			linode := fmt.Sprintf("/v4beta/linode/instances/%d", a.linodes()[0])
			before := a.tags(linode)
			mustDo(t, a.client, "PUT", a.pool, `{"tags":["team=b"]}`)
			mustDo(t, a.client, "PUT", linode, `{"tags":["karpenter.sh/nodeclaim=x"]}`)
			time.Sleep(linodesim.LieTags / 2)
			if a.tags(a.pool) != 1 || a.tags(linode) != 1 {
				t.Error("the tags are gone at once")
			}
			time.Sleep(linodesim.LieTags)
			return a.tags(a.pool) == 0 && a.tags(linode) <= before
		},
		report.LoweredCounts: func(t *testing.T, a liedTo) bool {
			time.Sleep(time.Minute)
			created := a.count()
			mustDo(t, a.client, "PUT", a.pool, `{"count":5}`)
			time.Sleep(time.Minute)
			return created == 1 && a.count() == 4 && len(a.get()["nodes"].([]any)) == 4
		},
		report.ReturningNodes: func(t *testing.T, a liedTo) bool {
			time.Sleep(time.Minute)
			node := a.get()["nodes"].([]any)[0].(map[string]any)["id"].(string)
			mustDo(t, a.client, "DELETE", a.cluster+"/nodes/"+node, "")
			if a.count() != 1 {
				t.Errorf("count %d after the deletion", a.count())
			}
			time.Sleep(linodesim.LieReturn + time.Minute)
			return a.count() == 2 && len(a.linodes()) == 2
		},
		report.NoLimitHeaders: func(t *testing.T, a liedTo) bool {
			_, announced := mustDo(t, a.client, "GET", a.cluster, "").header["X-Ratelimit-Limit"]
			return !announced
		},
		report.UnknownRefusal: func(t *testing.T, a liedTo) bool {
			refused := a.do("POST", a.pools, made)
			_, reason := refused.reason()
			return refused.status == 400 && strings.Contains(reason, "E4711")
		},
		report.HangingPools: func(t *testing.T, a liedTo) bool {
			time.Sleep(24 * time.Hour)
			return a.count() == 2 && len(a.linodes()) == 0
		},
	} {
		for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
			for _, lying := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", about, tier, lying), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						sim, api := newSim(t, linodesim.Config{Profile: even(), NoRateLimits: about != report.NoLimitHeaders})
						_, path := addCluster(t, sim, tier)
						if lying && about != report.UnknownRefusal && about != report.LateWrites {
							lie(t, sim, about)
						}
						pool := mustDo(t, api, "POST", path+"/pools", made)
						if lying {
							lie(t, sim, about)
						}
						a := liedTo{api, path, path + "/pools", fmt.Sprintf("%s/pools/%v", path, number(pool.body["id"])), t}
						if got := broken(t, a); got != lying {
							t.Errorf("broken: %v", got)
						}
						if said := slices.Contains(sim.Active(), "lie: "+string(about)); said != lying {
							t.Errorf("faults in force: %q", sim.Active())
						}
						sim.HealAll()
						if sim.Lies(about) {
							t.Error("it goes on after HealAll")
						}
					})
				})
			}
		}
	}
}

func lie(t *testing.T, sim *linodesim.Sim, about report.Assumption) {
	t.Helper()
	if err := sim.Lie(about); err != nil {
		t.Fatal(err)
	}
}

// Lies are told over HTTP, too, and an unknown name is refused with the names.
func TestLiesOverHTTP(t *testing.T) {
	sim, _ := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	for _, about := range report.Assumptions() {
		if status, text := page(t, sim.Admin(), "POST", "/faults", fmt.Sprintf(`{"lie":%q}`, about)); status != 200 || !sim.Lies(about) {
			t.Errorf("%s: %d %s", about, status, text)
		}
	}
	status, text := page(t, sim.Admin(), "POST", "/faults", `{"lie":"white"}`)
	if status != 400 || !strings.Contains(text, string(report.OtherNames)) {
		t.Errorf("%d %s", status, text)
	}
}
