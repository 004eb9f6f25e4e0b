package linodesim_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestHostMaintenanceIsListedForEachLinodeUntilItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant(), Tokens: map[string][]string{
			"owner": {"*"}, "narrow": {"account:read_only"}, "provider": {"lke:read_write", "linodes:read_write"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		list := func(token string) ([]int, error) {
			api, err := linode.New(linode.Config{Token: linode.StaticToken(token), BaseURL: "https://api.example.com", Transport: sim.Transport()})
			if err != nil {
				t.Fatal(err)
			}
			entries, err := linode.Collect(api.ListHostMaintenance(t.Context(), linode.Filter{}))
			var ids []int
			for _, e := range entries {
				ids = append(ids, e.Entity.ID)
			}
			return ids, err
		}
		var all []int
		for range 3 {
			id, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Region: "us-ord"})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, id)
		}
		// The same work concerns two Linodes: entries that differ in nothing but the Linode are two.
		reboot := linodesim.HostMaintenance{Type: "reboot", Status: "pending", When: time.Now().Add(time.Hour), Reason: "firmware"}
		for _, id := range all[:2] {
			if err := sim.AnnounceMaintenance(id, &reboot); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := list("narrow"); err != nil || !slices.Equal(got, all[:2]) {
			t.Errorf("listed %v, %v, want %v", got, err, all[:2])
		}
		if _, err := list("provider"); linode.KindOf(err) != linode.KindForbidden {
			t.Errorf("without account:read_only: %v", err)
		}
		if err := sim.AnnounceMaintenance(all[0], nil); err != nil {
			t.Fatal(err)
		}
		if got, err := list("owner"); err != nil || !slices.Equal(got, all[1:2]) {
			t.Errorf("after it was cancelled: %v, %v", got, err)
		}
		if err := sim.AnnounceMaintenance(1, &reboot); err == nil {
			t.Error("of a Linode that does not exist")
		}
	})
}
