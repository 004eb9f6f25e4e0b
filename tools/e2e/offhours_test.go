package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

// offHours takes a NodePool's nodes away in a window that has begun, and gives its pods nodes again some time before the window's end,
// which the clock reaches while the test waits.
func offHours(t *testing.T, e *environment) {
	const app, lead = "daytime", time.Hour
	e.nodePool(t, nodePoolSpec{limits: `{cpu: "1000", nodes: "9"}`})
	e.apply(t, deployment(app, 2, apart(app)))
	e.settled(t, app, 2)
	ctx, g := t.Context(), NewWithT(t)
	pool := func(g Gomega) *karpv1.NodePool {
		nodePool := &karpv1.NodePool{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named("default")}, nodePool)).To(Succeed())
		return nodePool
	}
	began := time.Now().UTC().Add(-2 * time.Minute).Truncate(time.Minute)
	window := func(wake time.Time) string {
		return fmt.Sprintf(`{wakeBefore: %dm, windows: [{schedule: "%d %d * * *", duration: %dm}]}`, int(lead.Minutes()),
			began.Minute(), began.Hour(), int((wake.Add(lead).Sub(began)).Minutes()))
	}

	e.annotate(t, pool(g), offhours.Annotation, window(began.Add(3*time.Hour)))
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.karpenterNodes(ctx, g)).To(BeEmpty())
		g.Expect(e.nodeClaims(ctx, g)).To(BeEmpty())
		g.Expect(pool(g).StatusConditions().Get(offhours.Condition).IsTrue()).To(BeTrue())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	waiting := e.pods(ctx, g, app)
	e.event(t, "Pod", waiting[0].Name, "OffHours", "makes no node for this pod now")
	e.explained(t, "pod", waiting[0].Namespace+"/"+waiting[0].Name, "Off-hours until ")
	shown := decoded[struct{ OffHours []string }](t, e.program(t, "top", "--once", "--output", "json")).OffHours
	if !strings.HasPrefix(strings.Join(shown, "\n")+"\n", e.named("default")+": Off-hours until ") {
		t.Errorf("top shows %q", shown)
	}

	wake := time.Now().UTC().Add(80 * time.Second).Truncate(time.Minute) // in 20 to 80 seconds
	e.annotate(t, pool(g), offhours.Annotation, window(wake))
	e.settled(t, app, 2)
	for _, claim := range e.nodeClaims(ctx, g) {
		if claim.CreationTimestamp.Time.Before(wake) {
			t.Errorf("NodeClaim %s was made at %v, before %v", claim.Name, claim.CreationTimestamp, wake)
		}
	}
	if nodes := pool(g).Spec.Limits["nodes"]; nodes.String() != "9" {
		t.Errorf("limits %v", pool(g).Spec.Limits)
	}
	e.oneToOne(t)
}
