package e2e_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
)

func TestHeadroomRests(t *testing.T) {
	t.Parallel()
	e := start(t, "headroom-rests", "standard", map[string]any{"settings": map[string]any{
		"featureGates": map[string]any{"capacityBuffer": true},
	}})
	e.scenario(t, "nodes for a buffer stay, whatever consolidateAfter is", bufferRests)
}

// emptied is longer than core needs to delete a node that it takes for empty: a round of 10 s, a second look 15 s later, and the drain.
const emptied = 45 * time.Second

// bufferRests: nodes that were bought for a buffer are full from their first second on, and go with it. Core places a buffer's pods twice
// a minute, and a node that became ready between two such passes counted as empty.
func bufferRests(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	e.nodePool(t, nodePoolSpec{consolidate: "1s", types: []string{"g6-standard-1"}})
	e.chunk(t)
	since := e.now()
	for i := range 2 { // of different ages
		e.apply(t, buffer(fmt.Sprintf("room-%d", i), "podTemplateRef: {name: chunk}"))
		e.matched(t, i+1)
	}
	claims := e.claimNames(ctx, g)
	g.Consistently(ctx, func(g Gomega) { g.Expect(e.claimNames(ctx, g)).To(Equal(claims)) }).
		WithTimeout(emptied).WithPolling(interval).Should(Succeed())
	if since.made() != 2 {
		t.Errorf("%d Linodes were made for room that takes 2", since.made())
	}
	// If the test deleted NodeClaims while their buffers exist, core would buy for the buffers again. And a NodeClaim that is deleted
	// during its launch leaves a Linode for the five minutes of an orphan.
	g.Expect(e.kube.DeleteAllOf(ctx, &autoscalingv1beta1.CapacityBuffer{}, client.InNamespace("default"))).To(Succeed())
	e.matched(t, 0)
}
