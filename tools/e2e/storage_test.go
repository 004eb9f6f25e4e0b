package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestStorageStandard(t *testing.T)   { storage(t, "standard") }
func TestStorageEnterprise(t *testing.T) { storage(t, "enterprise") }

// storage is about pods with Linode block storage, whose volumes are tied to the region by the driver's own label.
func storage(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "storage", tier, nil)
	e.apply(t, waitingClass("late", ""))
	e.apply(t, waitingClass("late-here", "us-ord"))
	e.apply(t, waitingClass("late-elsewhere", "eu-west"))
	e.scenario(t, "a claim that is bound, claims that wait for a node, allowed topologies", claimsGetNodes)
	e.scenario(t, "28 pods with a volume each come to rest", volumesRest)
	e.scenario(t, "a StatefulSet through scale-up, consolidation and drift", statefulSet(""))
}

// waitingClass is a StorageClass that makes volumes where the pod runs, in the region if one is given.
func waitingClass(name, region string) string {
	topologies := ""
	if region != "" {
		topologies = fmt.Sprintf("\nallowedTopologies: [{matchLabelExpressions: [{key: topology.linode.com/region, values: [%s]}]}]", region)
	}
	return fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %s}
provisioner: linodebs.csi.linode.com
volumeBindingMode: WaitForFirstConsumer%s
`, name, topologies)
}

// claimsGetNodes: a pod for each way to claim a volume gets a node, and one whose volume would have to be in another
// region gets none.
func claimsGetNodes(t *testing.T, e *environment) {
	e.nodePool(t, nodePoolSpec{consolidate: "Never"})
	classes := map[string]string{"bound": "linode-block-storage", "late": "late", "here": "late-here", "elsewhere": "late-elsewhere"}
	for name, class := range classes {
		e.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 10Gi}}}
`, name, class))
	}
	ctx, g := t.Context(), NewWithT(t)
	g.Eventually(ctx, func() string { return e.volumeOf(ctx, "bound") }).WithTimeout(patience).WithPolling(interval).ShouldNot(BeEmpty())
	g.Expect(e.volumeOf(ctx, "late")).To(BeEmpty(), "the volume of a claim that waits for a node")
	for name := range classes {
		e.apply(t, deployment(name, 1, fmt.Sprintf("\n      volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]", name)))
	}
	for _, name := range []string{"bound", "late", "here"} {
		e.settled(t, name, 1)
		volume := &corev1.PersistentVolume{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.volumeOf(ctx, name)}, volume)).To(Succeed())
		g.Expect(volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key).To(Equal("topology.linode.com/region"))
	}
	pods := e.pods(ctx, g, "elsewhere")
	g.Expect(pods).To(HaveLen(1))
	e.event(t, "Pod", pods[0].Name, "FailedScheduling", "eu-west")
	e.attachedWherePodsRun(t, "bound", "late", "here")
	e.oneToOne(t)
}

// statefulSet follows two pods with a volume each: nodes are made for them, the nodes are replaced by cheaper ones, and
// then because their class changes. The pods keep their volumes, and nothing waits for ever for a volume to be detached. fields are the
// class's, as in specOf.
func statefulSet(fields string) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) { followStatefulSet(t, e, fields) }
}

func followStatefulSet(t *testing.T, e *environment, fields string) {
	const app = "database"
	e.nodePool(t, nodePoolSpec{budget: "1", types: []string{"g6-standard-2"}, class: specOf(fields)})
	e.apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s, namespace: default}
spec:
  serviceName: %[1]s
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0%[2]s%[3]s
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 10Gi}}}
`, app, apart(app), requesting(oneCPU)))
	e.settled(t, app, 1)
	e.setReplicas(t, &appsv1.StatefulSet{}, app, 2)
	e.settled(t, app, 2)
	e.attachedWherePodsRun(t, app)
	ctx, g := t.Context(), NewWithT(t)
	volumes := func() []string { return []string{e.volumeOf(ctx, "data-"+app+"-0"), e.volumeOf(ctx, "data-"+app+"-1")} }
	before := volumes()

	replacedBy := func(what string, replaced func(corev1.Node) bool, change func()) {
		t.Helper()
		change()
		g.Eventually(ctx, func(g Gomega) {
			nodes := e.karpenterNodes(ctx, g)
			g.Expect(nodes).To(HaveLen(2))
			for _, node := range nodes {
				g.Expect(replaced(node)).To(BeTrue(), "%s: node %s is new", what, node.Name)
			}
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
		e.settled(t, app, 2)
		e.matched(t, 2)
		e.attachedWherePodsRun(t, app)
		e.attachedInTheAccount(t, app)
		g.Expect(volumes()).To(Equal(before), "%s: volumes of the pods", what)
	}
	replacedBy("consolidation", func(node corev1.Node) bool { return node.Labels[corev1.LabelInstanceTypeStable] == "g6-standard-1" }, func() {
		e.apply(t, nodePoolSpec{budget: "1", types: []string{"g6-standard-1", "g6-standard-2"}}.yaml())
	})
	old := e.karpenterNodes(ctx, g)
	replacedBy("drift", func(node corev1.Node) bool {
		return !slices.ContainsFunc(old, func(o corev1.Node) bool { return o.UID == node.UID })
	}, func() { e.apply(t, class(specOf("diskEncryption: disabled", fields))) })
}

// volumeOf is the volume of a claim; "" while the claim has no volume.
func (e *environment) volumeOf(ctx context.Context, claim string) string {
	object := &corev1.PersistentVolumeClaim{}
	if err := e.kube.Get(ctx, client.ObjectKey{Namespace: string(e.namespace()), Name: claim}, object); err != nil {
		return err.Error()
	}
	return object.Spec.VolumeName
}

// attachedWherePodsRun waits until the volumes of the pods are attached to their nodes, and to no others.
func (e *environment) attachedWherePodsRun(t *testing.T, apps ...string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		var wanted, attached []string
		for _, app := range apps {
			for _, pod := range e.pods(ctx, g, app) {
				claim := pod.Spec.Volumes[slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })]
				wanted = append(wanted, e.volumeOf(ctx, claim.PersistentVolumeClaim.ClaimName)+" on "+pod.Spec.NodeName)
			}
		}
		attachments := &storagev1.VolumeAttachmentList{}
		g.Expect(e.kube.List(ctx, attachments)).To(Succeed())
		for _, a := range attachments.Items {
			if !e.isMyVolume(ctx, g, *a.Spec.Source.PersistentVolumeName) {
				continue
			}
			g.Expect(a.Status.Attached).To(BeTrue())
			attached = append(attached, *a.Spec.Source.PersistentVolumeName+" on "+a.Spec.NodeName)
		}
		g.Expect(attached).To(ConsistOf(wanted))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// isMyVolume reports whether a volume is of a claim of the scenario; one that is gone is of another's.
func (e *environment) isMyVolume(ctx context.Context, g Gomega, name string) bool {
	if e.lane == "" {
		return true
	}
	volume := &corev1.PersistentVolume{}
	err := e.kube.Get(ctx, client.ObjectKey{Name: name}, volume)
	g.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil && volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.Namespace == string(e.namespace())
}
