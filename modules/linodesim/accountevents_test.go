package linodesim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// events reads the account's events about an object, oldest first, and decodes them strictly.
func (c client) events(kind string, id any) []api.AccountEvent {
	c.t.Helper()
	filter := fmt.Sprintf(`{"entity.id":%v,"entity.type":%q,"+order_by":"id"}`, id, kind)
	r := c.do("GET", "/v4/account/events", "", "X-Filter", filter)
	var page api.AccountEventPage
	decoder := json.NewDecoder(bytes.NewReader([]byte(r.raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&page); r.status != 200 || err != nil {
		c.t.Fatalf("%d %v: %s", r.status, err, r.raw)
	}
	return page.Data
}

// The events of a Linode's creation and boot end when the work does: a client that waits for them does not go on early.
func TestEventsEndWithTheirWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Realistic(), Seed: 2})
		_, made := newLinode(t, api,
			`{"type":"g6-nanode-1","region":"us-ord","label":"one","image":"linode/debian12","root_pass":"not-a-secret"}`)
		id := made.body["id"]
		var seen []string
		percent := map[string]int{}
		for range 300 {
			list := api.events("linode", id)
			state := ""
			for _, e := range list {
				state += e.Action + " " + e.Status + " "
				if e.Status == "started" {
					if *e.PercentComplete < max(5, percent[e.Action]) || *e.PercentComplete > 99 || e.TimeRemaining == nil {
						t.Fatalf("percent %d after %d, remaining %v", *e.PercentComplete, percent[e.Action], e.TimeRemaining)
					}
					percent[e.Action] = *e.PercentComplete
				}
				if (e.Status == "finished") != (e.Duration != nil) {
					t.Fatalf("%s with duration %v", e.Status, e.Duration)
				}
			}
			if !slices.Contains(seen, state) {
				seen = append(seen, state)
			}
			linode := sim.Snapshot().Instances[0]
			if list[1].Status == "finished" != (linode.Status == linodesim.StatusRunning) {
				t.Fatalf("boot is %s while the Linode is %s", list[1].Status, linode.Status)
			}
			if list[0].Status == "finished" == (linode.Status == linodesim.StatusProvisioning) {
				t.Fatalf("creation is %s while the Linode is %s", list[0].Status, linode.Status)
			}
			time.Sleep(time.Second)
		}
		want := []string{
			"linode_create started linode_boot scheduled ", "linode_create finished linode_boot started ",
			"linode_create finished linode_boot finished ",
		}
		if !slices.Equal(seen, want) {
			t.Errorf("states %q, want %q", seen, want)
		}
		list := api.events("linode", id)
		if s := list[0].SecondaryEntity; s == nil || s.ID != "linode/debian12" || s.Type != "image" {
			t.Errorf("secondary entity of the creation %+v", s)
		}
		if s := list[1].SecondaryEntity; s == nil || s.Type != "linode_config" || *list[1].Username != "user1" {
			t.Errorf("boot by %s, with %+v", *list[1].Username, s)
		}
	})
}

// Everything that happens to a Linode has its events, with the name of its user, in the order in which it happened.
func TestEventsOfALinodesLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Fast()})
		path, made := newLinode(t, api,
			`{"type":"g6-standard-1","region":"us-ord","label":"one","image":"linode/debian12","root_pass":"not-a-secret","boot_size":9000}`)
		wait := func() { time.Sleep(time.Minute) }
		wait()
		disk := number(api.do("GET", path+"/disks", "").data(t)[0]["id"])
		mustDo(t, api, "POST", "/v4/images", fmt.Sprintf(`{"disk_id":%v}`, disk))
		wait()
		mustDo(t, api, "POST", path+"/shutdown", "")
		wait()
		more := mustDo(t, api, "POST", path+"/disks", `{"size":512,"filesystem":"ext4"}`)
		wait()
		config := mustDo(t, api, "POST", path+"/configs", `{"label":"more","devices":{}}`)
		mustDo(t, api, "PUT", fmt.Sprintf("%s/configs/%v", path, number(config.body["id"])), `{"comments":"x"}`)
		mustDo(t, api, "DELETE", fmt.Sprintf("%s/configs/%v", path, number(config.body["id"])), "")
		mustDo(t, api, "DELETE", fmt.Sprintf("%s/disks/%v", path, number(more.body["id"])), "")
		mustDo(t, api, "POST", path+"/boot", "")
		mustDo(t, api, "DELETE", path, "")
		wait()
		var got []string
		for _, e := range api.events("linode", made.body["id"]) {
			got = append(got, e.Action+" "+e.Status)
			if *e.Username != "user1" || e.Entity.Label != "one" {
				t.Errorf("%s by %s of %q", e.Action, *e.Username, e.Entity.Label)
			}
		}
		want := []string{
			"linode_create finished", "linode_boot finished", "disk_imagize finished", "linode_shutdown finished", "disk_create finished",
			"linode_config_create finished", "linode_config_update finished", "linode_config_delete finished", "disk_delete finished",
			"linode_boot failed", "linode_delete finished",
		}
		if !slices.Equal(got, want) {
			t.Errorf("events\n%q, want\n%q", got, want)
		}
	})
}
