package nodeclass_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The answers that judge a class also have the devices of a firewall and the nodes of a VPC: no further request is sent.
func TestAttachedLinodesComeWithTheClassesAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t, linodesim.Instant())
		l, ctx := newLookup(t, sim, "full"), t.Context()
		firewall := sim.AddFirewall(linodesim.FirewallSpec{Label: "nodes"})
		vpc := post(t, sim, "/vpcs", `{"label":"net","region":"us-ord","ipv6":[{"range":"/52"}],"subnets":[{"label":"a","ipv4":"10.0.0.0/24","ipv6":[{"range":"/56"}]},{"label":"b","ipv4":"10.0.1.0/24"}]}`)
		found, err := l.VPC(ctx, vpc)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found.IPv6Subnets, found.Subnets[:1]) {
			t.Errorf("of the subnets %v those have IPv6: %v", found.Subnets, found.IPv6Subnets)
		}
		empty, _, err := newLookup(t, sim, "full").Protected(ctx, firewall)
		if err != nil || empty == nil || len(empty) > 0 {
			t.Errorf("an empty firewall protects %v, %v", empty, err)
		}
		linode := post(t, sim, "/linode/instances", fmt.Sprintf(
			`{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not stored 4711!","firewall_id":%d,"interfaces":[{"purpose":"vpc","subnet_id":%d,"primary":true}]}`,
			firewall, found.Subnets[1]))
		l = newLookup(t, sim, "full")
		before := calls(sim)
		for range 2 {
			protected, read, err := l.Protected(ctx, firewall)
			if err != nil || len(protected) != 1 || protected[0].ID != linode || read.IsZero() {
				t.Errorf("the firewall protects %v, read %s, %v; expected %d", protected, read, err, linode)
			}
			connected, read, err := l.Connected(ctx, vpc)
			if err != nil || len(connected[found.Subnets[0]]) > 0 || !slices.Equal(connected[found.Subnets[1]], []int{linode}) || read.IsZero() {
				t.Errorf("the VPC contains %v, read %s, %v; expected %d", connected, read, err, linode)
			}
			if _, err := l.Firewall(ctx, firewall); err != nil {
				t.Error(err)
			}
			if _, err := l.VPC(ctx, vpc); err != nil {
				t.Error(err)
			}
		}
		if n := calls(sim) - before; n != 2 {
			t.Errorf("%d requests, expected one for the firewall and one for the VPC", n)
		}
		time.Sleep(21 * time.Second)
		if _, _, err := l.Young().Protected(ctx, firewall); err != nil || calls(sim)-before != 3 {
			t.Errorf("%d requests, %v; expected one more for a young answer", calls(sim)-before, err)
		}
		if protected, _, err := l.Protected(ctx, firewall+1); err != nil || protected != nil {
			t.Errorf("a firewall that does not exist protects %v, %v; expected that it is not known", protected, err)
		}
	})
}
