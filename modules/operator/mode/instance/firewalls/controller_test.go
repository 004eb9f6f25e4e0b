package firewalls_test

import (
	"strings"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/firewalls"
)

// A class's firewall is put on running Linodes: the first one, another one, and one that a user took off.
func TestLinodesAreKeptBehindTheFirewallOfTheirClass(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(w *world) // the class's past
		made    func(w *world) int
		then    func(w *world)
	}{
		"the class gets its first": {func(*world) {}, func(*world) int { return 0 }, func(*world) {}},
		"the class gets another":   {func(w *world) { w.want(w.x) }, func(w *world) int { return w.x }, func(*world) {}},
		"taken out by hand":        {func(*world) {}, func(w *world) int { return w.y }, func(w *world) { w.takeOut(w.y) }},
		"moved by hand to the former": {func(w *world) { w.want(w.x) }, func(w *world) int { return w.y },
			func(w *world) { w.moveByHand() }},
		"the former does not exist any more": {func(w *world) { w.want(1) }, func(*world) int { return 0 }, func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.prepare(w)
			claim := w.claim(instances.Network{FirewallID: test.made(w)})
			test.then(w)
			w.want(w.y)
			calls := w.calls("")
			if pause := w.rest(claim); pause < time.Minute {
				t.Errorf("looked at again after %s", pause)
			}
			w.expect(claim, w.y, firewalls.EventAttached)
			if n := w.calls("") - calls; n > 7 { // two readings, the Linode twice, who is behind the former, out of it, into the other
				t.Errorf("%d requests to move one Linode", n)
			}
			w.rest(claim)
			calls = w.calls("")
			for range 50 {
				w.rest(claim)
			}
			if n := w.calls("") - calls; n != 0 {
				t.Errorf("%d requests at rest", n)
			}
			if w.controller.Refused(claim.UID, w.y) {
				t.Error("it counts as refused")
			}
		})
	}
}

// Linodes that move together share the readings: two of their firewall and one list of the former one.
func TestManyLinodesShareReadings(t *testing.T) {
	const n = 12
	w := newWorld(t)
	w.want(w.x)
	var claims []*karpv1.NodeClaim
	for range n {
		claims = append(claims, w.claim(instances.Network{FirewallID: w.x}))
	}
	w.want(w.y)
	count := func(method, route string) (n int) {
		for _, call := range w.sim.Calls() {
			if call.Method == method && call.Route == route {
				n += call.N
			}
		}
		return n
	}
	for _, claim := range claims {
		if _, err := w.controller.Reconcile(t.Context(), claim.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	for _, claim := range claims {
		w.rest(claim)
	}
	if readings, lists := count("GET", "/networking/firewalls/{firewallId}"), count("GET", devicesRoute); readings > 2 || lists != 1 {
		t.Errorf("%d readings of the firewall, %d lists of the former one", readings, lists)
	}
	if n := len(w.devices(w.y)); n != len(claims) {
		t.Errorf("%d of %d Linodes are behind the firewall", n, len(claims))
	}
}

// A Linode with the newer interfaces is protected by each of them but VLANs, and one that was taken out alone comes back.
func TestEveryInterfaceIsBehindTheFirewall(t *testing.T) {
	w := newWorld(t)
	network := instances.Network{Generation: instances.GenerationLinode, Interfaces: []instances.Interface{
		{Public: true, Primary: true}, {VLAN: &instances.VLANInterface{Label: "side"}},
	}}
	w.class.Spec.Interfaces = []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}}
	first := w.sim.AddFirewall(linodesim.FirewallSpec{Label: "first", Default: true}) // without one the API refuses the Linode
	claim := w.claim(network)
	for _, d := range w.devices(first) {
		if err := w.api.DeleteFirewallDevice(t.Context(), first, d.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.want(w.x)
	w.rest(claim)
	w.expect(claim, w.x, firewalls.EventAttached)
	w.want(w.y)
	w.rest(claim)
	w.expect(claim, w.y, firewalls.EventAttached, firewalls.EventAttached)
	if n := len(w.devices(w.x)); n != 0 {
		t.Errorf("%d devices are left in the former firewall", n)
	}
	devices := w.devices(w.y)
	if len(devices) != 1 || devices[0].Entity.Type != api.FirewallEntityTypeLinodeInterface {
		t.Errorf("the firewall protects %v", devices)
	}
}

// Of two interfaces one is taken out.
func TestAnInterfaceThatWasTakenOutAloneComesBack(t *testing.T) {
	w := newWorld(t)
	subnet := w.subnet()
	w.class.Spec.Interfaces = []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}, {Type: v1alpha1.InterfaceVPC}}
	claim := w.claim(instances.Network{Generation: instances.GenerationLinode, FirewallID: w.y, Interfaces: []instances.Interface{
		{Public: true, Primary: true}, {VPC: &instances.VPCInterface{SubnetID: subnet}},
	}})
	w.want(w.y)
	w.rest(claim)
	w.expect(claim, w.y)
	if err := w.api.DeleteFirewallDevice(t.Context(), w.y, w.devices(w.y)[1].ID); err != nil {
		t.Fatal(err)
	}
	w.lookup.ForgetFirewall(w.y)
	w.rest(claim)
	w.expect(claim, w.y, firewalls.EventAttached)
	if n := len(w.devices(w.y)); n != 2 {
		t.Errorf("%d interfaces are behind the firewall, expected both", n)
	}
}

// What is not known, not this cluster's, or a user's choice is left as it is.
func TestWhatIsNotTheClassesIsLeftAlone(t *testing.T) {
	t.Run("a class without firewall", func(t *testing.T) {
		w := newWorld(t)
		w.want(w.x)
		claim := w.claim(instances.Network{FirewallID: w.x})
		w.want(0)
		calls := w.calls("")
		w.rest(claim)
		w.expect(claim, w.x)
		if n := w.calls("") - calls; n != 0 {
			t.Errorf("%d requests", n)
		}
	})
	t.Run("a firewall that a user chose", func(t *testing.T) {
		w := newWorld(t)
		chosen := w.sim.AddFirewall(linodesim.FirewallSpec{Label: "chosen"})
		claim := w.claim(instances.Network{FirewallID: chosen})
		w.want(w.y)
		if pause := w.rest(claim); pause != retryPause || w.controller.Refused(claim.UID, w.y) {
			t.Errorf("after one refusal: again after %s, refused %t", pause, w.controller.Refused(claim.UID, w.y))
		}
		w.clock.Step(retryPause)
		if pause := w.rest(claim); pause != refusalPause || !w.controller.Refused(claim.UID, w.y) {
			t.Errorf("after two refusals: again after %s, refused %t", pause, w.controller.Refused(claim.UID, w.y))
		}
		w.expect(claim, chosen, firewalls.EventNotAttached)
	})
	t.Run("a Linode of another claimant", func(t *testing.T) {
		w := newWorld(t)
		other, claim := w.claim(instances.Network{}), w.claim(instances.Network{})
		claim.Status.ProviderID = other.Status.ProviderID
		w.want(w.y)
		w.rest(claim)
		w.expect(other, 0)
	})
	t.Run("a Linode of a user", func(t *testing.T) {
		w := newWorld(t)
		theirs, err := w.sim.AddInstance(linodesim.InstanceSpec{Type: "g6-nanode-1", Region: "us-ord"})
		if err != nil {
			t.Fatal(err)
		}
		claim := w.claim(instances.Network{FirewallID: w.y})
		claim.Status.ProviderID = providerID(theirs)
		w.want(w.y)
		w.rest(claim)
		w.expect(claim, 0)
	})
	t.Run("a class whose firewall was not found", func(t *testing.T) {
		w := newWorld(t)
		claim := w.claim(instances.Network{})
		w.want(w.y)
		w.class.StatusConditionsFor(v1alpha1.ModeInstance).SetFalse(v1alpha1.ConditionFirewallReady, v1alpha1.ReasonFirewallNotFound,
			"it is gone")
		w.storeClass()
		w.rest(claim)
		w.expect(claim, 0)
	})
	t.Run("a node that has not registered", func(t *testing.T) {
		w := newWorld(t)
		claim := w.claim(instances.Network{})
		claim.Status.Conditions = nil
		w.want(w.y)
		w.rest(claim)
		w.expect(claim, 0)
	})
	t.Run("a node that registered after the reading", func(t *testing.T) {
		w := newWorld(t)
		claim := w.claim(instances.Network{})
		claim.Status.Conditions[0].LastTransitionTime.Time = time.Now().Add(time.Minute)
		w.want(w.y)
		w.rest(claim)
		w.expect(claim, 0)
	})
}

// The event names what the token lacks, one Linode finds that out for all, and a token that has the scope ends it.
func TestATokenWithoutTheScopeMakesNodesDrift(t *testing.T) {
	w := newWorld(t)
	first, second := w.claim(instances.Network{}), w.claim(instances.Network{})
	w.want(w.y)
	rule := w.sim.Fail(linodesim.Rule{Method: "POST", Route: devicesRoute, Answer: linodesim.Answer{Status: 403, Reason: "Unauthorized"}})
	w.rest(first)
	if pause := w.rest(second); pause != retryPause {
		t.Errorf("the second Linode waits for %s", pause)
	}
	w.clock.Step(retryPause)
	w.rest(first)
	w.rest(second)
	if !w.controller.Refused(first.UID, w.y) || !w.controller.Refused(second.UID, w.y) {
		t.Error("they do not count as refused")
	}
	w.expect(first, 0, firewalls.EventNotAttached, firewalls.EventNotAttached)
	if n := w.sim.Hits(rule); n != 2 {
		t.Errorf("%d requests were refused, expected two for both Linodes", n)
	}
	if message := w.events[0].Message; !strings.Contains(message, "firewall:read_write") || !strings.Contains(message, "spec.firewallID") {
		t.Errorf("the event is %q", message)
	}
	w.sim.Heal(rule)
	w.rest(first)
	w.expect(first, 0, firewalls.EventNotAttached, firewalls.EventNotAttached)
	w.clock.Step(refusalPause)
	w.rest(first)
	w.rest(second)
	if w.controller.Refused(first.UID, w.y) || w.controller.Refused(second.UID, w.y) || w.behind(first) != w.y || w.behind(second) != w.y {
		t.Errorf("they are behind %d and %d with a better token", w.behind(first), w.behind(second))
	}
}
