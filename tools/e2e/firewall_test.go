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

// instanceFirewallsRoute is where the firewalls of one Linode are set.
const instanceFirewallsRoute = "/linode/instances/{linodeId}/firewalls"

// putBack makes a change after which both Linodes are behind a firewall: the same Linodes and nodes, and the same pods,
// none of them started again.
func putBack(t *testing.T, e *environment, firewall int, change func()) {
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

// keptBehindFirewall gives a class its first firewall, which replaces its nodes, and takes a Linode out by hand: it is put
// back in place.
// A token that may not do that has the nodes replaced.
func keptBehindFirewall(t *testing.T, e *environment) {
	firewall := e.Sim.AddFirewall(linodesim.FirewallSpec{Label: "one"})
	twoApart(t, e, nodePoolSpec{budget: "1"})
	rolled(t, e, func() { e.apply(t, class(fmt.Sprintf("{firewallID: %d}", firewall))) })
	e.allBehind(t, firewall)
	// The operator remembers firewalls for minutes; a restarted operator reads them.
	restarted := func() {
		e.Operator.Stop(t.Context())
		e.takenOut(t, firewall)
		NewWithT(t).Expect(e.Operator.Start(t.Context())).To(Succeed())
	}
	putBack(t, e, firewall, restarted)

	rule := e.Sim.Fail(linodesim.Rule{Method: http.MethodPut, Route: instanceFirewallsRoute,
		Answer: linodesim.Answer{Status: http.StatusForbidden, Reason: "Your OAuth token is not authorized to use this endpoint."}})
	defer e.Sim.Heal(rule)
	rolled(t, e, func() {
		restarted()
		for _, claim := range e.nodeClaims(t.Context(), NewWithT(t)) {
			e.event(t, "NodeClaim", claim.Name, firewalls.EventNotAttached, "may not set the firewalls")
			e.annotate(t, &claim, "example.com/looked-at", "true") // triggers Karpenter's check for drift
		}
	})
	e.allBehind(t, firewall)
}

func (e *environment) allBehind(t *testing.T, firewall int) {
	t.Helper()
	for _, instance := range e.ourInstances() {
		if instance.FirewallID != firewall {
			t.Errorf("%s is behind firewall %d, want %d", instance.Label, instance.FirewallID, firewall)
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
