package firewalls_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/firewalls"
)

const (
	devicesRoute = "/networking/firewalls/{firewallId}/devices"
	deviceRoute  = devicesRoute + "/{deviceId}"
)

func providerID(linode int) string { return fmt.Sprint("linode://", linode) }

// subnet makes a VPC with one subnet.
func (w *world) subnet() int {
	w.Helper()
	made := w.send(http.MethodPost, "/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"a","ipv4":"10.0.0.0/24"}]}`)
	vpc, err := w.api.GetVPC(w.Context(), made.ID)
	if err != nil {
		w.Fatal(err)
	}
	return vpc.Subnets[0].ID
}

// Whatever becomes of a request or its answer, the Linode ends behind its firewall, once.
func TestFaultsOfTheAPIAreSurvived(t *testing.T) {
	status := func(code int) linodesim.Answer { return linodesim.Answer{Status: code, RetryAfter: time.Second} }
	for name, rule := range map[string]linodesim.Rule{
		"the answer of the attachment is lost":       {Method: "POST", Route: devicesRoute, Drop: true, AfterEffect: true},
		"the attachment fails after its effect":      {Method: "POST", Route: devicesRoute, Answer: status(500), AfterEffect: true},
		"the attachment fails before its effect":     {Method: "POST", Route: devicesRoute, Answer: status(503)},
		"the request to attach is lost":              {Method: "POST", Route: devicesRoute, Drop: true},
		"too many requests":                          {Method: "POST", Route: devicesRoute, Answer: status(429)},
		"the answer of the detachment is lost":       {Method: "DELETE", Route: deviceRoute, Drop: true, AfterEffect: true},
		"the detachment fails after its effect":      {Method: "DELETE", Route: deviceRoute, Answer: status(500), AfterEffect: true},
		"the list of what the former protects fails": {Method: "GET", Route: devicesRoute, Answer: status(500)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.want(w.x)
			claim := w.claim(instances.Network{FirewallID: w.x})
			w.want(w.y)
			rule.Times = 1
			id := w.sim.Fail(rule)
			w.rest(claim)
			if w.sim.Hits(id) != 1 {
				t.Fatalf("the fault happened %d times", w.sim.Hits(id))
			}
			w.expect(claim, w.y, firewalls.EventAttached)
			if n := len(w.devices(w.y)); n != 1 || len(w.devices(w.x)) != 0 {
				t.Errorf("%d devices in the firewall, %d in the former one", n, len(w.devices(w.x)))
			}
		})
	}
}

// A process that ends between taking a Linode out of one firewall and putting it into another leaves it in none.
func TestALinodeThatWasLeftInNoFirewallIsAttached(t *testing.T) {
	w := newWorld(t)
	w.want(w.x)
	claim := w.claim(instances.Network{FirewallID: w.x})
	w.want(w.y)
	w.takeOut(w.x) // what the first process did
	w.start()
	w.rest(claim)
	w.expect(claim, w.y, firewalls.EventAttached)
}

// A Linode keeps its former firewall when the other one refuses it: those rules are better than none.
func TestALinodeIsPutBackWhenItsNewFirewallIsGone(t *testing.T) {
	for _, code := range []int{400, 403, 404} {
		w := newWorld(t)
		w.want(w.x)
		claim := w.claim(instances.Network{FirewallID: w.x})
		w.want(w.y)
		w.sim.Fail(linodesim.Rule{Method: "POST", Route: devicesRoute, Times: 1, Answer: linodesim.Answer{Status: code}})
		if pause := w.rest(claim); pause != retryPause {
			t.Errorf("%d: again after %s", code, pause)
		}
		w.expect(claim, w.x)
	}
}

// A firewall that is deleted takes nothing else with it, and the class's condition reports it.
func TestAFirewallThatWasDeletedIsNoReasonToDetach(t *testing.T) {
	w := newWorld(t)
	w.want(w.x)
	claim := w.claim(instances.Network{FirewallID: w.x})
	w.want(w.y)
	if _, err := w.controller.Reconcile(t.Context(), claim); err != nil { // the first reading
		t.Fatal(err)
	}
	w.send(http.MethodDelete, fmt.Sprint("/networking/firewalls/", w.y), "")
	w.rest(claim)
	w.expect(claim, w.x)
	if found, err := w.lookup.Firewall(t.Context(), w.y); found != nil || err != nil {
		t.Errorf("the firewall is %v, %v; expected that the class's controller misses it", found, err)
	}
}

// A reading that is older than what it shows may lack a Linode that is there.
func TestAnOutdatedReadingCausesNoRefusal(t *testing.T) {
	w := newWorld(t)
	claim := w.claim(instances.Network{})
	w.want(w.y)
	w.rest(claim)
	id := w.sim.Fail(linodesim.Rule{Method: "GET", Route: "/networking/firewalls/{firewallId}", View: linodesim.View{Stale: time.Hour},
		Times: 4})
	for range 5 {
		w.lookup.ForgetFirewall(w.y)
		if pause := w.rest(claim); pause == retryPause {
			w.clock.Step(retryPause)
		}
	}
	w.sim.Heal(id)
	if w.controller.Refused(claim.UID, w.y) || len(w.devices(w.y)) != 1 {
		t.Errorf("refused: %t; %d devices", w.controller.Refused(claim.UID, w.y), len(w.devices(w.y)))
	}
}
