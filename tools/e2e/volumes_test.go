package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	storagev1 "k8s.io/api/storage/v1"
)

var restFor = flag.Duration("rest", 90*time.Second, "how `long` nothing may be replaced where a scenario waits for that")

// volumesRest: small pods with a volume each get nodes that take their volumes, and then nothing is replaced. Consolidation that does not
// count the volumes of nodes to come begins to swing within a minute.
func volumesRest(t *testing.T, e *environment) {
	const app, pods = "volumes", 28
	e.nodePool(t, nodePoolSpec{types: []string{"g6-standard-2", "g6-standard-4", "g6-standard-6", "g6-standard-8"}})
	e.apply(t, withVolumes(app, pods, requesting("50m")))
	e.settled(t, app, pods)
	e.rests(t, *restFor)
	ctx, g := t.Context(), NewWithT(t)
	limits := e.volumeLimits(ctx, g)
	on := map[string]int{}
	for _, pod := range e.pods(ctx, g, app) {
		on[pod.Spec.NodeName]++
	}
	for _, node := range slices.Sorted(maps.Keys(on)) {
		g.Expect(on[node]).To(BeNumerically("<=", limits[node]), "volumes on %s", node)
		t.Logf("%s: %d volumes of at most %d", node, on[node], limits[node])
	}
	e.attachedWherePodsRun(t, app)
}

// withVolumes is a StatefulSet whose pods have a volume each, of the StorageClass late.
func withVolumes(name string, pods int, containers string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s, namespace: default}
spec:
  serviceName: %[1]s
  replicas: %[2]d
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0%[3]s
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 10Gi}}}
`, name, pods, containers)
}

// rests waits until the NodeClaims have stayed the same for so long, and logs each change before that.
func (e *environment) rests(t *testing.T, unchanged time.Duration) {
	t.Helper()
	ctx, since := t.Context(), time.Now()
	claims, changed := e.claimNames(ctx, NewWithT(t)), since
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		if now := e.claimNames(ctx, g); !slices.Equal(now, claims) {
			claims, changed = now, time.Now()
			t.Logf("%s after the pods were placed: NodeClaims %s", changed.Sub(since).Round(time.Second), strings.Join(claims, ", "))
		}
		for _, claim := range e.nodeClaims(ctx, g) {
			g.Expect(claim.DeletionTimestamp).To(BeNil(), "NodeClaim %s is on its way out", claim.Name)
		}
		g.Expect(time.Since(changed)).To(BeNumerically(">=", unchanged), "time without a change of the NodeClaims %v", claims)
	}).WithTimeout(unchanged + 3*patience).WithPolling(interval).Should(Succeed())
	t.Logf("%d NodeClaims, unchanged for %s, of the types %v", len(claims), time.Since(changed).Round(time.Second), e.types(ctx, NewWithT(t)))
}

// volumeLimits returns how many volumes each node takes, as its driver reports.
func (e *environment) volumeLimits(ctx context.Context, g Gomega) map[string]int {
	limits := map[string]int{}
	drivers := &storagev1.CSINodeList{}
	g.Expect(e.kube.List(ctx, drivers)).To(Succeed())
	for _, node := range drivers.Items {
		for _, driver := range node.Spec.Drivers {
			limits[node.Name] = int(*driver.Allocatable.Count)
		}
	}
	return limits
}

// claimNames returns the names of all NodeClaims.
func (e *environment) claimNames(ctx context.Context, g Gomega) []string {
	var names []string
	for _, claim := range e.nodeClaims(ctx, g) {
		names = append(names, claim.Name)
	}
	slices.Sort(names)
	return names
}
