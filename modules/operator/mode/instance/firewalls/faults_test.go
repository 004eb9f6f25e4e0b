package firewalls_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func providerID(linode int) string { return fmt.Sprint("linode://", linode) }

// Whatever becomes of a request or its answer, the Linode ends behind its firewall, once, and leaves none on the way.
func TestFaultsOfTheAPIAreSurvived(t *testing.T) {
	status := func(code int) linodesim.Answer { return linodesim.Answer{Status: code, RetryAfter: time.Second} }
	for name, rule := range map[string]linodesim.Rule{
		"the answer is lost":                    {Method: http.MethodPut, Route: instanceRoute, Drop: true, AfterEffect: true},
		"it fails after its effect":             {Method: http.MethodPut, Route: instanceRoute, Answer: status(500), AfterEffect: true},
		"it fails before its effect":            {Method: http.MethodPut, Route: instanceRoute, Answer: status(503)},
		"the request is lost":                   {Method: http.MethodPut, Route: instanceRoute, Drop: true},
		"too many requests":                     {Method: http.MethodPut, Route: instanceRoute, Answer: status(429)},
		"the list of the Linode's own is lost":  {Method: http.MethodGet, Route: instanceRoute, Drop: true},
		"the list of the Linode's own fails":    {Method: http.MethodGet, Route: instanceRoute, Answer: status(500)},
		"the reading of the Linode fails":       {Method: http.MethodGet, Route: "/linode/instances/{linodeId}", Answer: status(500)},
		"the reading of the firewall is lost":   {Method: http.MethodGet, Route: "/networking/firewalls/{firewallId}", Drop: true},
		"the reading of the firewall is denied": {Method: http.MethodGet, Route: "/networking/firewalls/{firewallId}", Answer: status(502)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.want(w.y)
			claim := w.claim(instances.Network{FirewallID: w.y})
			w.takeOut(w.y)
			rule.Times = 1
			id := w.sim.Fail(rule)
			for range 3 { // an unknown firewall is looked at again after minutes
				w.rest(claim)
				w.lookup.ForgetFirewall(w.y)
			}
			if w.sim.Hits(id) != 1 {
				t.Fatalf("the fault happened %d times", w.sim.Hits(id))
			}
			if w.behind(claim) != w.y || len(w.devices(w.y)) != 1 || w.controller.Refused(claim.UID, w.y) {
				t.Errorf("it is behind %d, which protects %d; refused: %t", w.behind(claim), len(w.devices(w.y)),
					w.controller.Refused(claim.UID, w.y))
			}
		})
	}
}

// A process that ends right after its request, and another one that starts, write once.
func TestAnotherProcessFindsWhatWasWritten(t *testing.T) {
	w := newWorld(t)
	w.want(w.y)
	claim := w.claim(instances.Network{FirewallID: w.y})
	w.takeOut(w.y)
	w.rest(claim)
	writes := w.calls(http.MethodPut)
	w.start()
	w.rest(claim)
	if n := w.calls(http.MethodPut) - writes; n != 0 || w.behind(claim) != w.y {
		t.Errorf("%d more writes; it is behind %d", n, w.behind(claim))
	}
}

// A firewall that is deleted takes nothing else with it, and the class's condition reports it.
func TestAFirewallThatWasDeletedCausesNoWrite(t *testing.T) {
	w := newWorld(t)
	w.want(w.y)
	claim := w.claim(instances.Network{FirewallID: w.y})
	if _, err := w.controller.Reconcile(t.Context(), claim); err != nil { // the first reading
		t.Fatal(err)
	}
	w.send(http.MethodDelete, fmt.Sprint("/networking/firewalls/", w.y), "")
	w.lookup.ForgetFirewall(w.y)
	writes := w.calls(http.MethodPut)
	w.rest(claim)
	if n := w.calls(http.MethodPut) - writes; n != 0 {
		t.Errorf("%d writes", n)
	}
	if found, err := w.lookup.Firewall(t.Context(), w.y); found != nil || err != nil {
		t.Errorf("the firewall is %v, %v; expected that the class's controller misses it", found, err)
	}
}

// A reading that is older than what it shows may lack a Linode that is there.
func TestAnOutdatedReadingCausesNoRefusal(t *testing.T) {
	w := newWorld(t)
	w.want(w.y)
	claim := w.claim(instances.Network{FirewallID: w.y})
	id := w.sim.Fail(linodesim.Rule{Method: http.MethodGet, Route: "/networking/firewalls/{firewallId}",
		View:  linodesim.View{Stale: time.Hour},
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
