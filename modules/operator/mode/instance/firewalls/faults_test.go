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

// With each fault of a request or its answer, the Linode ends behind its firewall, and it leaves no firewall meanwhile.
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
		"the reading of the firewall is lost":   {Method: http.MethodGet, Route: "/networking/firewalls/{firewallId}", Drop: true},
		"the reading of the firewall is denied": {Method: http.MethodGet, Route: "/networking/firewalls/{firewallId}", Answer: status(502)},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.want(w.y)
				claim := w.claim(instances.Network{FirewallID: w.y})
				w.takeOut(w.y)
				rule.Times = 1
				id := w.sim.Fail(rule)
				for range 3 { // an unknown firewall is looked at again after minutes
					time.Sleep(w.rest(claim))
				}
				if w.sim.Hits(id) != 1 {
					t.Fatalf("the fault happened %d times", w.sim.Hits(id))
				}
				if w.behind(claim) != w.y || len(w.devices(w.y)) != 1 || w.keeper.Refused(claim.UID, w.y) {
					t.Errorf("it is behind %d, which protects %d; refused: %t", w.behind(claim), len(w.devices(w.y)),
						w.keeper.Refused(claim.UID, w.y))
				}
			})
		})
	}
}

// If a process ends right after its request and another process starts, both together write once.
func TestAnotherProcessFindsWhatWasWritten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
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
	})
}

// A firewall that is deleted takes nothing else with it, and the class's condition reports it.
func TestAFirewallThatWasDeletedCausesNoRefusal(t *testing.T) {
	for name, first := range map[string]func(*world){
		"alone": func(*world) {}, "after a Linode was taken out": func(w *world) { w.takeOut(w.y) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.want(w.y)
				claim := w.claim(instances.Network{FirewallID: w.y})
				first(w)
				if _, err := w.controller.Reconcile(t.Context(), claim.DeepCopy()); err != nil { // the first reading
					t.Fatal(err)
				}
				w.send(http.MethodDelete, fmt.Sprint("/networking/firewalls/", w.y), "")
				for range 10 {
					time.Sleep(w.rest(claim))
				}
				if n := w.calls(http.MethodPut); n > 1 { // one that no reading could prevent
					t.Errorf("%d writes", n)
				}
				w.expect(claim, 0)
				if w.keeper.Refused(claim.UID, w.y) {
					t.Error("the node is to be replaced")
				}
				if found, err := w.lookup.Firewall(t.Context(), w.y); found != nil || err != nil {
					t.Errorf("the firewall is %v, %v; expected that the class's controller misses it", found, err)
				}
			})
		})
	}
}

// An old reading of the firewall may lack a Linode that is behind the firewall. The Linode's own firewalls decide.
func TestAnOutdatedReadingCausesNoWrite(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.want(w.y)
		id := w.sim.Fail(linodesim.Rule{Method: http.MethodGet, Route: "/networking/firewalls/{firewallId}",
			View: linodesim.View{Stale: time.Hour}}) // shows nothing that comes later
		claim := w.claim(instances.Network{FirewallID: w.y})
		calls := w.calls("")
		for began := time.Now(); time.Since(began) < 50*time.Minute; {
			time.Sleep(w.rest(claim))
		}
		if n := w.sim.Hits(id); n < 5 {
			t.Errorf("%d readings were outdated", n)
		}
		if n := w.counted(instanceRoute); n == 0 {
			t.Error("no reading lacked the Linode")
		}
		if n, most := w.calls("")-calls, 2*w.sim.Hits(id); n > most {
			t.Errorf("%d requests, expected the Linode's firewalls once for each of the %d readings", n, w.sim.Hits(id))
		}
		if n := w.calls(http.MethodPut); n != 0 || w.keeper.Refused(claim.UID, w.y) {
			t.Errorf("%d writes; refused: %t", n, w.keeper.Refused(claim.UID, w.y))
		}
		w.expect(claim, w.y)
	})
}
