package e2e_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
)

func TestHeadroom(t *testing.T) {
	t.Parallel()
	e := start(t, "headroom", "standard", map[string]any{"settings": map[string]any{
		"featureGates": map[string]any{"capacityBuffer": true}, "nodePriceLabel": true,
	}})
	e.scenario(t, "CapacityBuffers keep room for pods to come", capacityBuffers)
}

// chunk makes the shape of the pods that buffers keep room for.
func (e *environment) chunk(t *testing.T) {
	t.Helper()
	e.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PodTemplate
metadata: {name: chunk, namespace: default}
template:
  spec:
      terminationGracePeriodSeconds: 0%s
`, requesting(oneCPU)))
}

// capacityBuffers: a buffer buys a node before there is a pod, the pod starts there without another purchase, the room
// it took is bought anew, and everything goes with the buffer. Buffers take the shape of their pods from each kind of
// object that they can refer to.
func capacityBuffers(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	// Core looks at buffers every 30 s, and takes a node for empty before it has.
	e.nodePool(t, nodePoolSpec{consolidate: "1m", types: []string{"g6-standard-1"}})
	e.chunk(t)
	e.apply(t, buffer("room", "podTemplateRef: {name: chunk}"))
	e.matched(t, 1)
	g.Eventually(ctx, func() string {
		return e.bufferReason(t, "room",
			"Provisioning")
	}).WithTimeout(patience).WithPolling(interval).Should(Equal("FitsExistingCapacity"))
	spare := e.karpenterNodes(ctx, g)[0]
	g.Eventually(ctx, func() map[string]string { return e.karpenterNodes(ctx, g)[0].Labels }).WithTimeout(patience).WithPolling(interval).
		Should(HaveKeyWithValue("eks-node-viewer/instance-price", "0.018"))

	e.apply(t, deployment("sudden", 1, ""))
	e.settled(t, "sudden", 1)
	g.Expect(e.pods(ctx, g, "sudden")[0].Spec.NodeName).To(Equal(spare.Name), "the pod is on the node that was there for it")
	e.matched(t, 2)

	e.apply(t, buffer("none", "scalableRef: {kind: Deployment, name: nothing}"))
	g.Eventually(ctx, func() string {
		return e.bufferReason(t, "none",
			"ReadyForProvisioning")
	}).WithTimeout(patience).WithPolling(interval).Should(Equal("ScalableRefNotFound"))
	e.apply(t, statefulSetOf("slow"))
	set := &appsv1.ReplicaSetList{}
	g.Expect(e.kube.List(ctx, set, client.InNamespace("default"), client.MatchingLabels{"app": "sudden"})).To(Succeed())
	for name, ref := range map[string]string{
		"of-deployment":  "{apiGroup: apps, kind: Deployment, name: sudden}",
		"of-replicaset":  "{apiGroup: apps, kind: ReplicaSet, name: " + set.Items[0].Name + "}",
		"of-statefulset": "{apiGroup: apps, kind: StatefulSet, name: slow}",
	} {
		e.apply(t, buffer(name, "scalableRef: "+ref))
		g.Eventually(ctx, func() string {
			return e.bufferReason(t, name,
				"ReadyForProvisioning")
		}).WithTimeout(patience).WithPolling(interval).Should(Equal("Resolved"))
	}
	e.matched(t, 5)
	g.Expect(e.kube.DeleteAllOf(ctx, &appsv1.StatefulSet{}, client.InNamespace("default"))).To(Succeed())
	g.Expect(e.kube.DeleteAllOf(ctx, &autoscalingv1beta1.CapacityBuffer{}, client.InNamespace("default"))).To(Succeed())
	g.Expect(e.kube.DeleteAllOf(ctx, &corev1.PodTemplate{}, client.InNamespace("default"))).To(Succeed())
	e.matched(t, 1)
}

// buffer keeps room for one pod of what it refers to.
func buffer(name, ref string) string {
	return fmt.Sprintf(`
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: %s, namespace: default}
spec:
  replicas: 1
  %s
`, name, ref)
}

// statefulSetOf returns a StatefulSet without pods.
func statefulSetOf(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s, namespace: default}
spec:
  serviceName: %[1]s
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0%[2]s
`, name, requesting(oneCPU))
}

// bufferReason is the reason of a buffer's condition; "" while the condition is missing.
func (e *environment) bufferReason(t *testing.T, name, condition string) string {
	t.Helper()
	object := &autoscalingv1beta1.CapacityBuffer{}
	if err := e.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, object); err != nil {
		return err.Error()
	}
	found := apimeta.FindStatusCondition(object.Status.Conditions, condition)
	if found == nil {
		found = &metav1.Condition{}
	}
	return found.Reason
}
