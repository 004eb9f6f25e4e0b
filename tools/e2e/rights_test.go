package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// TestRights makes the requests whose rights no other suite needs: those of the feature with its own rule, and those on API servers that
// do not stream lists, where informers list before they watch.
func TestRights(t *testing.T) {
	t.Parallel()
	e := start(t, "rights", "standard", map[string]any{
		"settings":   map[string]any{"featureGates": map[string]any{"nodeOverlay": true}},
		"controller": map[string]any{"env": []any{map[string]any{"name": "KUBE_FEATURE_WatchListClient", "value": "false"}}},
	})
	e.run(t, "a part of the token would be found", plantedToken)
	e.scenario(t, "volumes, namespaces and an overlay", volumesAndNamespaces)
	e.scenario(t, "a pod that a budget holds beyond the termination grace period", heldPod)
}

// volumesAndNamespaces makes Karpenter look at what a pod's place depends on: its
// claim, the class and the volume behind it, and the namespaces that its
// anti-affinity selects.
func volumesAndNamespaces(t *testing.T, e *environment) {
	e.apply(t, `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: dearer}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g6-standard-1]}]
  priceAdjustment: "+10%"
`)
	e.apply(t, `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: example.com/simulated-by-the-test
volumeBindingMode: WaitForFirstConsumer
`)
	e.apply(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
`)
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.apply(t, deployment("stateful", 1, `
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}
              labelSelector: {matchLabels: {app: stateful}}`))
	ctx, g := t.Context(), NewWithT(t)
	claim := &corev1.PersistentVolumeClaim{}
	g.Eventually(ctx, func(g Gomega) { // the scheduler has chosen the new node for the volume
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "data"}, claim)).To(Succeed())
		g.Expect(claim.Annotations).To(HaveKey("volume.kubernetes.io/selected-node"))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	volume := e.volume(t, "data")
	e.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: late
  capacity: {storage: 1Gi}
  csi: {driver: linodebs.csi.linode.com, volumeHandle: %d-data}
  claimRef: {namespace: default, name: data, uid: %s}
`, volume, claim.UID))
	e.settled(t, "stateful", 1)
	overlay := &karpv1alpha1.NodeOverlay{}
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "dearer"}, overlay)).To(Succeed())
		g.Expect(overlay.StatusConditions().Get("Ready").IsTrue()).To(BeTrue())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.oneToOne(t)
	for _, object := range []client.Object{claim, overlay} {
		g.Expect(e.kube.Delete(ctx, object)).To(Succeed())
	}
}

// volume makes one in the account, of which Kubernetes does not know, and removes it when the test is over and it is detached.
func (e *environment) volume(t *testing.T, label string) int {
	t.Helper()
	owner, volume := e.owner(), api.Volume{}
	wanted := map[string]any{"label": label, "region": "us-ord", "size": 10}
	NewWithT(t).Expect(owner.Send(t.Context(), http.MethodPost, "/volumes", "", wanted, &volume)).To(Succeed())
	t.Cleanup(func() {
		NewWithT(t).Eventually(func() error {
			return owner.Send(context.WithoutCancel(t.Context()), http.MethodDelete, fmt.Sprintf("/volumes/%d", volume.ID), "", nil, nil)
		}).WithTimeout(patience).WithPolling(seldom).Should(Succeed())
	})
	return volume.ID
}

// heldPod is on a deleted node, and its budget allows no eviction. Evictions fail until the node's termination grace period is over; then
// the pod is deleted.
func heldPod(t *testing.T, e *environment) {
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", `
    spec:
      terminationGracePeriod: 10s`, ""))
	e.apply(t, deployment("held", 1, ""))
	e.settled(t, "held", 1)
	ctx, g := t.Context(), NewWithT(t)
	none := intstr.FromInt32(0)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "held", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "held"}}},
	}
	g.Expect(e.kube.Create(ctx, budget)).To(Succeed())
	first := e.pods(ctx, g, "held")[0]
	claims := e.nodeClaims(ctx, g)
	g.Expect(claims).To(HaveLen(1))
	g.Expect(e.kube.Delete(ctx, &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claims[0].Name}})).To(Succeed())
	g.Eventually(ctx, func(g Gomega) {
		for _, pod := range e.pods(ctx, g, "held") {
			g.Expect(pod.UID).NotTo(Equal(first.UID))
		}
		for _, claim := range e.nodeClaims(ctx, g) {
			g.Expect(claim.UID).NotTo(Equal(claims[0].UID))
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	g.Expect(e.kube.Delete(ctx, budget)).To(Succeed())
	e.settled(t, "held", 1)
	e.oneToOne(t)
}
