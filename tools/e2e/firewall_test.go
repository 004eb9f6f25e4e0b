package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/firewalls"
)

// What the API offers to attach and detach a Linode.
const (
	devicesRoute = "/networking/firewalls/{firewallId}/devices"
	deviceRoute  = devicesRoute + "/{deviceId}"
)

// attachedInPlace makes a change after which both Linodes are behind a firewall: the same Linodes and nodes, and the same pods,
// none of them started again.
func attachedInPlace(t *testing.T, e *environment, firewall int, change func()) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	since, nodes, pods := e.now(), e.nodeUIDs(t), e.podRestarts(t)
	change()
	g.Eventually(ctx, e.ourInstances).WithTimeout(patience).WithPolling(interval).Should(And(HaveLen(2),
		HaveEach(HaveField("FirewallID", firewall))))
	for _, claim := range e.nodeClaims(ctx, g) {
		e.event(t, "NodeClaim", claim.Name, firewalls.EventAttached, fmt.Sprint(firewall))
	}
	e.notDrifted(t)
	g.Expect(e.nodeUIDs(t)).To(Equal(nodes), "nodes")
	g.Expect(e.podRestarts(t)).To(Equal(pods), "pods, and how often they were started again")
	if since.made() != 0 {
		t.Errorf("%d Linodes were made for a firewall", since.made())
	}
}

func (e *environment) nodeUIDs(t *testing.T) map[string]types.UID {
	t.Helper()
	all := map[string]types.UID{}
	for _, node := range e.karpenterNodes(t.Context(), NewWithT(t)) {
		all[node.Spec.ProviderID] = node.UID
	}
	return all
}

func (e *environment) podRestarts(t *testing.T) map[types.UID]int32 {
	t.Helper()
	all := map[types.UID]int32{}
	for _, pod := range e.pods(t.Context(), NewWithT(t), drifting) {
		for _, container := range pod.Status.ContainerStatuses {
			all[pod.UID] += container.RestartCount
		}
	}
	return all
}

// keptBehindFirewall gives a class its first firewall, and another one, and takes a Linode out by hand: all of it is made good in
// place. A token that may not do that has the nodes replaced.
func keptBehindFirewall(t *testing.T, e *environment) {
	one, other := e.Sim.AddFirewall(linodesim.FirewallSpec{Label: "one"}), e.Sim.AddFirewall(linodesim.FirewallSpec{Label: "other"})
	behind := func(firewall int) { e.apply(t, class(fmt.Sprintf("{firewallID: %d}", firewall))) }
	twoApart(t, e, nodePoolSpec{budget: "1"})
	attachedInPlace(t, e, one, func() { behind(one) })
	attachedInPlace(t, e, other, func() { behind(other) })
	// The operator remembers firewalls for minutes; one that starts reads them.
	attachedInPlace(t, e, other, func() {
		e.Operator.Stop(t.Context())
		e.takenOut(t, other)
		NewWithT(t).Expect(e.Operator.Start(t.Context())).To(Succeed())
	})

	missing := linodesim.Answer{Status: http.StatusForbidden, Reason: "Your OAuth token is not authorized to use this endpoint."}
	for method, route := range map[string]string{http.MethodPost: devicesRoute, http.MethodDelete: deviceRoute} {
		rule := e.Sim.Fail(linodesim.Rule{Method: method, Route: route, Answer: missing})
		defer e.Sim.Heal(rule)
	}
	rolled(t, e, func() {
		behind(one)
		for _, claim := range e.nodeClaims(t.Context(), NewWithT(t)) {
			e.event(t, "NodeClaim", claim.Name, firewalls.EventNotAttached, "firewall:read_write")
			e.annotate(t, &claim, "example.com/looked-at", "true") // triggers Karpenter's check for drift
		}
	})
	for _, instance := range e.ourInstances() {
		if instance.FirewallID != one {
			t.Errorf("%s is behind firewall %d, want %d", instance.Label, instance.FirewallID, one)
		}
	}
}

// takenOut takes everything out of a firewall, as its owner may.
func (e *environment) takenOut(t *testing.T, firewall int) {
	t.Helper()
	client := e.linode(t)
	devices, err := linode.Collect(client.ListFirewallDevices(t.Context(), firewall))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if err := client.DeleteFirewallDevice(t.Context(), firewall, d.ID); err != nil {
			t.Fatal(err)
		}
	}
}
