package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/faults"
)

// TestExplain asks `explain` about a running cluster while something is broken.
func TestExplain(t *testing.T) {
	t.Parallel()
	e := start(t, "explain", "standard", soon(map[string]any{"planRest": "30s"}))
	e.scenario(t, "a pod that waits while the account is broken", brokenAccount)
	e.scenario(t, "a pod that waits while the operator is stopped", stoppedOperator)
	e.scenario(t, "empty nodes that stay because a budget keeps another node", emptyNodesStay)
}

// planned is how `explain` begins a sentence about what Karpenter would do.
const planned = "Karpenter makes a node for it"

// A brokenCase is one way in which `make break` breaks an account.
type brokenCase struct {
	plan  string
	words []string // of the explanation of a pod that comes then; none = a node comes all the same
}

var brokenCases = map[string]brokenCase{
	"no-capacity":     {"all", []string{"no NodePool can make a node for it", "the region has no capacity"}},
	"silent-capacity": {"all", []string{"no NodePool can make a node for it", "the region has no capacity"}}, // Standard refuses
	"account-limit":   {"", []string{"a limit of the account or of the cluster is reached"}},
	"api-down":        {"", []string{"is for it", "LinodeAPIUnavailable: The Linode API does not answer"}},
	"slow-api":        {"", nil},
	"late-writes":     {"", nil},
	"missing-objects": {"", nil},
	"recycled-node":   {"", nil},
	"revoked-token":   {"", []string{"is for it", "TokenRefused: The Linode API refuses the token (401)"}},
}

func brokenAccount(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	target := faults.Target{API: e.SimURL, Admin: e.AdminURL, Token: e.SimToken, ClusterID: e.ClusterID,
		Record: filepath.Join(t.TempDir(), "broken.json")}
	mend := func(ctx context.Context) {
		_, err := faults.Mend(ctx, target)
		g.Expect(err).NotTo(HaveOccurred())
	}
	t.Cleanup(func() { mend(context.WithoutCancel(ctx)) })
	e.nodePool(t, nodePoolSpec{consolidate: "Never", types: []string{"g6-standard-1"}}) // a node holds one pod
	for n, name := range faults.Names() {
		tt, is := brokenCases[name]
		if !is {
			t.Errorf("%s: there is no case", name)
			continue
		}
		app := fmt.Sprintf("waiting-%d", n)
		if name == "recycled-node" { // whose pod waits then
			e.apply(t, deployment(app, 1, requesting("600m")))
			e.settled(t, app, 1)
		}
		_, _, err := faults.Break(ctx, target, name, faults.Settings{Plan: tt.plan})
		g.Expect(err).NotTo(HaveOccurred(), name)
		e.apply(t, deployment(app, 1, requesting("600m")))
		g.Eventually(ctx, func(g Gomega) {
			text := e.waitingExplained(ctx, g, app)
			if len(tt.words) == 0 && text == "" {
				return
			}
			g.Expect(strings.Contains(text, "is for it") && strings.Contains(text, planned)).To(BeFalse(), "%s: %s", name, text)
			g.Expect(tt.words).NotTo(BeEmpty(), "%s: the pod waits: %s", name, text)
			for _, words := range tt.words {
				g.Expect(text).To(ContainSubstring(words), name)
			}
			g.Expect(text).NotTo(ContainSubstring(planned), name)
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
		mend(ctx)
		e.settled(t, app, 1)
	}
}

// waitingExplained returns what `explain` prints of the pod of an app that has no node, "" if it has one.
func (e *environment) waitingExplained(ctx context.Context, g Gomega, app string) string {
	for _, pod := range e.pods(ctx, g, app) {
		if pod.Spec.NodeName == "" {
			text, err := e.runProgram(ctx, "explain", "pod/"+pod.Name, "--namespace", pod.Namespace)
			g.Expect(err).NotTo(HaveOccurred())
			return string(text)
		}
	}
	return ""
}

// stoppedOperator has no operator while a pod waits.
func stoppedOperator(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	e.nodePool(t, nodePoolSpec{})
	e.Operator.Kill()
	e.apply(t, deployment("stopped", 1, ""))
	g.Eventually(ctx, func(g Gomega) {
		text := e.waitingExplained(ctx, g, "stopped")
		g.Expect(text).To(ContainSubstring("Karpenter does not work: its Lease kube-system/karpenter-leader-election was renewed last"))
		g.Expect(text).NotTo(ContainSubstring(planned))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	e.settled(t, "stopped", 1)
}

// emptyNodesStay has a node that is deleted and that a PodDisruptionBudget keeps. The other nodes of its NodePool get empty.
func emptyNodesStay(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	e.nodePool(t, nodePoolSpec{budget: "1", types: []string{"g6-standard-1"}})
	for _, app := range []string{"kept", "spare"} {
		e.apply(t, deployment(app, 1, requesting("600m")))
	}
	e.settled(t, "kept", 1)
	e.settled(t, "spare", 1)
	e.apply(t, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: kept, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: kept}}}
`)
	kept, spare := e.nodeOf(ctx, g, "kept"), e.nodeOf(ctx, g, "spare")
	g.Expect(kept).NotTo(Equal(spare))
	for _, claim := range e.nodeClaims(ctx, g) {
		if claim.Status.NodeName == kept {
			g.Expect(e.kube.Delete(ctx, &claim)).To(Succeed())
		}
	}
	e.scale(t, "spare", 0)
	pod := e.pods(ctx, g, "kept")[0].Name
	g.Eventually(ctx, func(g Gomega) { // a node that leaves is reported after two minutes
		nodePool := &karpv1.NodePool{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "default"}, nodePool)).To(Succeed())
		condition := nodePool.StatusConditions().Get("EmptyNodesStay")
		g.Expect(condition.IsTrue()).To(BeTrue())
		for _, words := range []string{spare, "node " + kept, "PodDisruptionBudget default/kept", "pod default/" + pod} {
			g.Expect(condition.Message).To(ContainSubstring(words))
		}
	}).WithTimeout(2*patience + 3*time.Minute).WithPolling(interval).Should(Succeed())
	e.event(t, "NodePool", "default", "EmptyNodesStay", "PodDisruptionBudget default/kept", "pod default/"+pod)
	e.explained(t, "node", spare, "other nodes use the budgets up", "node "+kept, "PodDisruptionBudget default/kept", "pod default/"+pod)
	e.explained(t, "node", kept, "It is being deleted", "PodDisruptionBudget default/kept allows no eviction of pod default/"+pod)
	g.Expect(e.kube.DeleteAllOf(ctx, &policyv1.PodDisruptionBudget{}, e.namespace())).To(Succeed())
	g.Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g) // the pod that may go now takes the empty node
		g.Expect(nodes).To(HaveLen(1))
		g.Expect(nodes[0].Name).NotTo(Equal(kept))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	g.Eventually(ctx, func(g Gomega) {
		nodePool := &karpv1.NodePool{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "default"}, nodePool)).To(Succeed())
		g.Expect(strings.Contains(fmt.Sprint(nodePool.Status.Conditions), "EmptyNodesStay")).To(BeFalse())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}
