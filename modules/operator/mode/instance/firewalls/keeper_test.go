package firewalls_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/firewalls"
)

const instanceRoute = "/linode/instances/{linodeId}/firewalls"

// A Linode that a user took out of its class's firewall is put back by one request, and at rest no request is sent.
func TestLinodeThatWasTakenOutByHandIsPutBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.want(w.y)
		claim := w.claim(instances.Network{FirewallID: w.y})
		w.takeOut(w.y)
		calls, writes := w.calls(""), w.calls(http.MethodPut)
		if pause := w.rest(claim); pause < time.Minute {
			t.Errorf("looked at again after %s", pause)
		}
		w.expect(claim, w.y, firewalls.EventAttached)
		if n := w.calls("") - calls; n > 3 { // the firewall, the Linode's own, the write
			t.Errorf("%d requests to put one Linode back", n)
		}
		if n := w.calls(http.MethodPut) - writes; n != 1 {
			t.Errorf("%d writes", n)
		}
		w.rest(claim)
		calls = w.calls("")
		for range 50 {
			w.rest(claim)
		}
		if n := w.calls("") - calls; n != 0 || w.keeper.Refused(claim.UID, w.y) {
			t.Errorf("%d requests at rest; refused: %t", n, w.keeper.Refused(claim.UID, w.y))
		}
	})
}

// An hour at rest has the requests by which the controller of classes judges the firewall, for any number of Linodes.
func TestRestCostsTheReadingsOfTheClass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.want(w.y)
		all := w.claims(12, instances.Network{FirewallID: w.y})
		calls, began := w.calls(""), time.Now()
		for ; time.Since(began) < time.Hour; time.Sleep(time.Minute) {
			for _, claim := range all {
				if pause := w.rest(claim); pause == 0 {
					t.Fatal("it is not looked at again")
				}
			}
		}
		if n := w.calls("") - calls; n > int(time.Hour/mode.AnswerTTL) {
			t.Errorf("%d requests", n)
		}
		w.expect(all[0], w.y)
	})
}

// A changed class makes nodes drift. No Linode is moved, with any firewall that it has.
func TestChangedClassMovesNoLinode(t *testing.T) {
	for name, test := range map[string]struct{ first, then func(*world) int }{
		"its first firewall": {func(*world) int { return 0 }, func(w *world) int { return w.y }},
		"another one":        {func(w *world) int { return w.x }, func(w *world) int { return w.y }},
		"none":               {func(w *world) int { return w.x }, func(*world) int { return 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.want(test.first(w))
				claim := w.claim(instances.Network{FirewallID: test.first(w)})
				w.want(test.then(w))
				calls := w.calls("")
				w.rest(claim)
				w.expect(claim, test.first(w))
				if n := w.calls("") - calls; n != 0 {
					t.Errorf("%d requests", n)
				}
				if claim.Annotations[v1alpha1.AnnotationHash] == w.class.Hash(v1alpha1.ModeInstance) {
					t.Error("the class has the hash that it had before, so no node drifts")
				}
			})
		})
	}
}

// Linodes that were taken out together share the readings of their firewall.
func TestManyLinodesShareReadings(t *testing.T) {
	const n = 12
	inWorld(t, func(t *testing.T, w *world) {
		w.want(w.y)
		all := w.claims(n, instances.Network{FirewallID: w.y})
		w.takeOut(w.y)
		calls := w.calls("")
		for _, claim := range all {
			w.rest(claim)
		}
		if behind := len(w.devices(w.y)); behind != n {
			t.Errorf("%d of %d Linodes are behind the firewall", behind, n)
		}
		if n, want := w.calls("")-calls-1, 1+2*n; n > want { // less the one by which this test looked
			t.Errorf("%d requests, expected at most %d", n, want)
		}
	})
}

// If the API refuses the firewalls of a Linode, or a user has chosen another firewall, the node drifts. No Linode is taken out of a
// firewall.
func TestLinodeThatCannotBePutBackDrifts(t *testing.T) {
	newer := func(w *world) instances.Network {
		w.class.Spec.Interfaces = []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}}
		return instances.Network{Generation: instances.GenerationLinode, FirewallID: w.y, Interfaces: []instances.Interface{
			{Public: true, Primary: true}}}
	}
	two := func(w *world) instances.Network {
		network := newer(w)
		w.class.Spec.Interfaces = append(w.class.Spec.Interfaces, v1alpha1.Interface{Type: v1alpha1.InterfaceVPC})
		vpc := w.send(http.MethodPost, "/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"a","ipv4":"10.0.0.0/24"}]}`)
		found, err := w.api.GetVPC(w.Context(), vpc.ID)
		if err != nil {
			w.Fatal(err)
		}
		network.Interfaces = append(network.Interfaces, instances.Interface{VPC: &instances.VPCInterface{SubnetID: found.Subnets[0].ID}})
		return network
	}
	older := func(w *world) instances.Network { return instances.Network{FirewallID: w.y} }
	for name, test := range map[string]struct {
		network func(*world) instances.Network
		then    func(*world)
		behind  func(*world) int
		words   string
	}{
		"the newer interfaces": {newer, func(w *world) { w.takeOut(w.y) }, func(*world) int { return 0 }, "refuses to set the firewall"},
		"one of its newer interfaces": {two, func(w *world) {
			if err := w.api.DeleteFirewallDevice(w.Context(), w.y, w.devices(w.y)[0].ID); err != nil {
				w.Fatal(err)
			}
		}, func(w *world) int { return w.y }, "refuses to set the firewall"},
		"moved by hand": {older, func(w *world) { w.moveByHand() }, func(w *world) int { return w.x }, "which a user chose"},
		"a token without the scope": {older, func(w *world) {
			w.takeOut(w.y)
			w.sim.Fail(linodesim.Rule{Method: http.MethodPut, Route: instanceRoute, Answer: linodesim.Answer{Status: 403, Reason: "Unauthorized"}})
		}, func(*world) int { return 0 }, "may not set the firewalls"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				network := test.network(w)
				w.want(w.y)
				claim := w.claim(network)
				test.then(w)
				if pause := w.rest(claim); pause != retryPause || w.keeper.Refused(claim.UID, w.y) {
					t.Errorf("after one refusal: again after %s, refused %t", pause, w.keeper.Refused(claim.UID, w.y))
				}
				time.Sleep(retryPause)
				if pause := w.rest(claim); pause != refusalPause || !w.keeper.Refused(claim.UID, w.y) {
					t.Errorf("after two refusals: again after %s, refused %t", pause, w.keeper.Refused(claim.UID, w.y))
				}
				w.expect(claim, test.behind(w), firewalls.EventNotAttached)
				if message := w.events[0].Message; !strings.Contains(message, test.words) || !strings.Contains(message, "spec.firewallID") {
					t.Errorf("the event is %q", message)
				}
				calls := w.calls("")
				w.rest(claim)
				if n := w.calls("") - calls; n != 0 {
					t.Errorf("%d requests in the pause", n)
				}
			})
		})
	}
}

// A Linode that is not known, or is not this NodeClaim's, stays as it is.
func TestWhatIsNotTheNodeClaimsIsLeftAlone(t *testing.T) {
	for name, test := range map[string]func(w *world){
		"a Linode of another claimant": func(w *world) {
			w.want(w.y)
			other, claim := w.claim(instances.Network{}), w.claim(instances.Network{})
			claim.Status.ProviderID = other.Status.ProviderID
			w.rest(claim)
			w.expect(other, 0)
		},
		"a Linode of a user": func(w *world) {
			theirs, err := w.sim.AddInstance(linodesim.InstanceSpec{Type: "g6-nanode-1", Region: "us-ord"})
			if err != nil {
				w.Fatal(err)
			}
			w.want(w.y)
			claim := w.claim(instances.Network{FirewallID: w.y})
			claim.Status.ProviderID = providerID(theirs)
			w.rest(claim)
			w.expect(claim, 0)
		},
		"a class whose firewall was not found": func(w *world) {
			w.want(w.y)
			claim := w.claim(instances.Network{})
			w.class.StatusConditionsFor(v1alpha1.ModeInstance).SetFalse(v1alpha1.ConditionFirewallReady, v1alpha1.ReasonFirewallNotFound,
				"it is gone")
			w.storeClass()
			w.rest(claim)
			w.expect(claim, 0)
		},
		"a node that has not registered": func(w *world) {
			w.want(w.y)
			claim := w.claim(instances.Network{})
			claim.Status.Conditions = nil
			w.rest(claim)
			w.expect(claim, 0)
		},
		"a node that registered after the reading": func(w *world) {
			w.want(w.y)
			claim := w.claim(instances.Network{})
			claim.Status.Conditions[0].LastTransitionTime.Time = time.Now().Add(time.Minute)
			w.rest(claim)
			w.expect(claim, 0)
		},
		"a Linode that no list has shown": func(w *world) {
			w.want(w.y)
			claim := w.claim(instances.Network{})
			clear(w.listed)
			w.rest(claim)
			w.expect(claim, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				test(w)
				if n := w.calls(http.MethodPut); n != 0 {
					t.Errorf("%d writes", n)
				}
			})
		})
	}
}
