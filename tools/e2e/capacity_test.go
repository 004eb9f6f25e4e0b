package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

func TestCapacityStandard(t *testing.T)   { capacity(t, "standard") }
func TestCapacityEnterprise(t *testing.T) { capacity(t, "enterprise") }

// capacity is about how many nodes of which kind there are, and what happens when
// they cannot be had. The account has access to nodes without public addresses.
func capacity(t *testing.T, tier string) {
	t.Parallel()
	memory := map[string]simulatedlke.Memory{"standard": simulatedlke.MemoryLeaner, "enterprise": simulatedlke.MemoryByPod}
	e := start(t, "capacity", tier, nil, func(o *localcluster.Options) {
		o.Behaviour.AllowIsolation, o.Memory = true, memory[tier]
	})
	e.together(t,
		inLane("memory", "a pod larger than what nodes of 8 GiB have", largePod, swept),
		inLane("next", "the cheapest type cannot be had", nextType, swept),
		inLane("daemons", "pods of a DaemonSet count", daemonSet, swept),
		inLane("private", "nodes without public addresses", isolated, swept),
	)
}

// TestAccountLimit has a cluster of its own: while the limit is met, and for three minutes afterwards, nothing else could
// be bought beside it. Both tiers are the same here.
func TestAccountLimit(t *testing.T) {
	t.Parallel()
	e := start(t, "account-limit", "standard", nil)
	e.scenario(t, "the account's limit is reached", accountLimit)
}

// nextType: one refusal, and the next NodeClaim that Karpenter makes for the pod,
// in its next scheduling round, is for the next type.
func nextType(t *testing.T, e *environment) {
	const cheapest, next = "g6-standard-1", "g6-standard-2"
	e.Sim.RefuseCapacity(linodesim.NoCapacity{Type: cheapest})
	t.Cleanup(e.Sim.RestoreCapacity)
	e.nodePool(t, nodePoolSpec{types: []string{cheapest, next, "g6-standard-4"}})
	since, refused, claims := e.now(), e.calls(answeredWith(http.StatusBadRequest)), e.metric(t, "karpenter_nodeclaims_created_total")
	e.apply(t, deployment("elsewhere", 1, ""))
	e.settled(t, "elsewhere", 1)
	e.matched(t, 1)
	g, ctx := NewWithT(t), t.Context()
	g.Expect(e.types(ctx, g)).To(Equal([]string{next}))
	if got := e.calls(answeredWith(http.StatusBadRequest)) - refused; got != 1 {
		t.Errorf("the API refused %d requests; one says it", got)
	}
	if got := e.metric(t, "karpenter_nodeclaims_created_total") - claims; got != 2 {
		t.Errorf("Karpenter made %v NodeClaims; it was to need two, one for each type", got)
	}
	if since.made() != 1 {
		t.Errorf("%d instances were made for one pod", since.made())
	}
}

// daemonSet checks that its pods' requests are part of every node's size.
func daemonSet(t *testing.T, e *environment) {
	e.nodePool(t, nodePoolSpec{})
	e.apply(t, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere, namespace: default}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {karpenter.sh/nodepool: `+e.named("default")+`}`+requesting("1500m"))
	since := e.now()
	e.apply(t, deployment("beside", 2, ""))
	e.settled(t, "beside", 2)
	e.settled(t, "everywhere", 1)
	e.matched(t, 1)
	g, ctx := NewWithT(t), t.Context()
	// Two of these pods would go on g6-standard-2; with the 1.5 CPU of the DaemonSet they need four.
	g.Expect(e.types(ctx, g)).To(Equal([]string{"g6-standard-4"}))
	if since.made() != 1 {
		t.Errorf("%d instances were made; all fits on one", since.made())
	}
}

// accountLimit: the account may have one more Linode, and three pods need one each.
// The operator gets this Linode, an event has the reason why there are no more, and the operator sends few requests in this time. The
// other pods get nodes after the limit is raised and the pause of the operator is over.
func accountLimit(t *testing.T, e *environment) {
	const app, n, room = "waiting", 3, 1
	e.nodePool(t, nodePoolSpec{types: []string{"g6-standard-2", "g6-standard-4", "g6-standard-6"}})
	since := e.now()
	e.Sim.SetAccountLimit(len(e.Sim.Snapshot().Instances) + room)
	t.Cleanup(func() { e.Sim.SetAccountLimit(0) })
	e.apply(t, deployment(app, n, apart(app)))
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func() []string { return e.events(ctx) }).WithTimeout(patience).WithPolling(leisure).
		Should(ContainElement(And(Or(ContainSubstring("NodePool/"), ContainSubstring("NodeClaim/")), ContainSubstring("Account Limit reached"))))
	phases := func() map[corev1.PodPhase]int {
		count := map[corev1.PodPhase]int{}
		for _, pod := range e.pods(ctx, g, app) {
			count[pod.Status.Phase]++
		}
		return count
	}
	expected := map[corev1.PodPhase]int{corev1.PodRunning: room, corev1.PodPending: n - room}
	g.Eventually(ctx, phases).WithTimeout(patience).WithPolling(interval).Should(Equal(expected))
	// A 404 is the proof that a pool of an earlier scenario is gone.
	found := func(c linodesim.CallCount) bool { return c.Status != http.StatusNotFound }
	calls, from := e.calls(found), time.Now()
	const window, most = 25 * time.Second, 15 // three of Karpenter's rounds: a look, and two requests for each of two NodeClaims
	g.Consistently(ctx, func() int { return e.calls(found) - calls }).WithTimeout(window).WithPolling(time.Second).Should(
		BeNumerically("<=", most), "requests in the %s after the limit was met", window)
	t.Logf("%d requests in %s", e.calls(found)-calls, time.Since(from).Round(time.Second))
	if since.made() != room {
		t.Errorf("%d instances were made, want %d", since.made(), room)
	}
	g.Expect(phases()).To(Equal(expected))
	e.Sim.SetAccountLimit(0)
	// The operator avoids a refused plan for minutes, so this wait is longer than any other.
	g.Eventually(ctx, func() int { return len(e.ourInstances()) }).WithTimeout(2 * patience).WithPolling(interval).Should(Equal(n))
	e.settled(t, app, n)
	e.matched(t, n)
}

// metric is the sum of a metric of the operator over all labels, of the lane's NodePools alone where it names them;
// 0 if it has none yet.
func (e *environment) metric(t *testing.T, name string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(e.metrics(t)) {
		fields := strings.Fields(line)
		series, _, _ := strings.Cut(line, "{")
		if len(fields) < 2 || strings.Fields(series)[0] != name {
			continue
		}
		if _, labelled, has := strings.Cut(line, `nodepool="`); has && !e.isMine(labelled[:strings.IndexByte(labelled, '"')]) {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(fields[len(fields)-1], &value); err != nil {
			t.Fatalf("metric %s: %v", line, err)
		}
		sum += value
	}
	return sum
}
