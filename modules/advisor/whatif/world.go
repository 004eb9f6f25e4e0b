package whatif

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"
	corescheduling "sigs.k8s.io/karpenter/pkg/scheduling"

	linodeprovider "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
)

// volumeDriver is Linode's block storage driver.
const volumeDriver = "linodebs.csi.linode.com"

// world is the simulated cluster: its objects, and core's view of them.
type world struct {
	store       *objectstore.Store
	clock       *clock.FakeClock
	cluster     *state.Cluster
	provisioner *provisioning.Provisioner
	provider    *provider
	events      *recorder
	region      string
	made        int           // nodes that were made so far; names count on
	daemonSets  []*corev1.Pod // a pod of each
	arrival     arrival
	nodes       map[string]*made // by name
}

// made is a node that the simulation has made.
type made struct {
	claim *karpv1.NodeClaim
	node  *corev1.Node
	plan  *cloudprovider.InstanceType
	pods  map[client.ObjectKey]bool
}

// nodePool returns the name of the node's NodePool.
func (m *made) nodePool() string { return m.node.Labels[karpv1.NodePoolLabelKey] }

// coreContext returns a context with core's default options, in which core logs nothing.
func coreContext(ctx context.Context) (context.Context, error) {
	options := &coreoptions.Options{}
	flags := &coreoptions.FlagSet{FlagSet: flag.NewFlagSet("whatif", flag.ContinueOnError)}
	options.AddFlags(flags)
	if err := options.Parse(flags); err != nil {
		return nil, err
	}
	options.CPURequests = 4000 // the provisioner works on so many CPUs at a time
	return log.IntoContext(coreoptions.ToContext(ctx, options), logr.Discard()), nil
}

func newWorld(store *objectstore.Store, clk *clock.FakeClock, p *provider, region string) *world {
	w := &world{store: store, clock: clk, provider: p, region: region, events: &recorder{}, nodes: map[string]*made{}}
	w.cluster = state.NewCluster(clk, store, p)
	w.provisioner = provisioning.NewProvisioner(store, w.events, p, w.cluster, clk, nil, nil)
	return w
}

// make adds the node that the provider would buy for a NodeClaim of core's scheduler.
func (w *world) make(ctx context.Context, planned *scheduling.NodeClaim) (string, error) {
	claim := planned.ToNodeClaim()
	karpentercore.NarrowToOnDemand(claim)
	all, err := w.provider.GetInstanceTypes(ctx, w.nodePool(planned.NodePoolName))
	if err != nil {
		return "", err
	}
	plan, err := linodeprovider.Cheapest(all, claim)
	if err != nil {
		return "", err
	}
	w.made++
	name := fmt.Sprintf("%s-%05d", planned.NodePoolName, w.made)
	now := metav1.NewTime(w.clock.Now())
	m := &made{claim: claim, plan: plan, pods: map[client.ObjectKey]bool{}}
	labels := linodeprovider.LabelsOf(plan, w.region)
	maps.Copy(labels, claim.Labels)
	claim.ObjectMeta = metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: now, Annotations: claim.Annotations,
		Labels: labels, OwnerReferences: claim.OwnerReferences}
	claim.Status = karpv1.NodeClaimStatus{ProviderID: nodeclaim.ProviderID(w.made), NodeName: name, Capacity: plan.Capacity.DeepCopy(),
		Allocatable: plan.Allocatable().DeepCopy()}
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized,
		karpv1.ConditionTypeConsolidatable} {
		claim.StatusConditions().SetTrue(condition)
	}
	for i := range claim.Status.Conditions {
		claim.Status.Conditions[i].LastTransitionTime = now
	}
	m.node = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), CreationTimestamp: now, Labels: maps.Clone(labels),
			Annotations: maps.Clone(claim.Annotations)},
		Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID, Taints: slices.Clone(claim.Spec.Taints)},
		Status: corev1.NodeStatus{Capacity: claim.Status.Capacity.DeepCopy(), Allocatable: claim.Status.Allocatable.DeepCopy(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	maps.Copy(m.node.Labels, map[string]string{corev1.LabelHostname: name, karpv1.NodeRegisteredLabelKey: "true",
		karpv1.NodeInitializedLabelKey: "true"})
	w.nodes[name] = m
	w.store.Put(claim)
	w.store.Put(volumeLimit(name, plan))
	if err := w.observe(ctx, m.node); err != nil {
		return "", err
	}
	w.cluster.UpdateNodeClaim(claim.DeepCopy())
	return name, w.bind(ctx, name, planned.Pods)
}

// daemons returns a pod of each DaemonSet that runs on a node.
func (w *world) daemons(m *made) (pods []*corev1.Pod) {
	labels := corescheduling.NewLabelRequirements(m.node.Labels)
	for _, pod := range w.daemonSets {
		if corescheduling.Taints(m.node.Spec.Taints).ToleratesPod(pod) == nil &&
			labels.Compatible(corescheduling.NewStrictPodRequirements(pod)) == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// observe shows a node to core.
func (w *world) observe(ctx context.Context, node *corev1.Node) error {
	w.store.Put(node)
	return w.cluster.UpdateNode(ctx, node.DeepCopy())
}

// remove removes a node. Its pods wait again.
func (w *world) remove(name string) {
	m := w.nodes[name]
	delete(w.nodes, name)
	for key := range m.pods {
		pod := &corev1.Pod{}
		if err := w.store.Get(context.Background(), key, pod); err != nil {
			continue
		}
		w.store.Put(pending(pod))
		w.cluster.DeletePod(key)
	}
	w.cluster.DeleteNode(name)
	w.cluster.DeleteNodeClaim(name)
	w.store.Remove(m.node)
	w.store.Remove(m.claim)
	w.store.Remove(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// bind places pods on a node. A pod whose volumes exceed the node's limit keeps waiting, as in a real cluster.
func (w *world) bind(ctx context.Context, node string, pods []*corev1.Pod) error {
	for _, planned := range sortedPods(pods) {
		pod := &corev1.Pod{}
		if err := w.store.Get(ctx, client.ObjectKeyFromObject(planned), pod); err != nil {
			return err // the planned pod is a copy with relaxed preferences
		}
		if m := w.nodes[node]; m != nil {
			if w.volumes(ctx, m, pod) > volumesOf(m.plan) {
				continue
			}
			m.pods[client.ObjectKeyFromObject(pod)] = true
		}
		pod = bound(pod, node, metav1.NewTime(w.clock.Now()))
		w.store.Put(pod)
		if err := w.cluster.UpdatePod(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// volumes counts the volumes of a node with one more pod.
func (w *world) volumes(ctx context.Context, m *made, more *corev1.Pod) int {
	claims := map[client.ObjectKey]bool{}
	count := func(pod *corev1.Pod) {
		for _, volume := range pod.Spec.Volumes {
			if volume.PersistentVolumeClaim != nil {
				claims[client.ObjectKey{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}] = true
			}
		}
	}
	count(more)
	if len(claims) == 0 {
		return 0
	}
	for key := range m.pods {
		pod := &corev1.Pod{}
		if w.store.Get(ctx, key, pod) == nil {
			count(pod)
		}
	}
	return len(claims)
}

func (w *world) nodePool(name string) *karpv1.NodePool {
	nodePool := &karpv1.NodePool{}
	_ = w.store.Get(context.Background(), client.ObjectKey{Name: name}, nodePool) // the scheduler has read it from there
	return nodePool
}

// waiting returns the pods that have no node, by namespace and name.
func (w *world) waiting(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := w.store.List(ctx, list, client.MatchingFields{"spec.nodeName": ""})
	return list.Items, err
}

// volumesOf returns how many volumes a node of a plan takes.
func volumesOf(plan *cloudprovider.InstanceType) int {
	return plan.VolumeAttachmentLimits[volumeDriver]
}

// volumeLimit returns the CSINode with which the driver publishes the limit of volumes.
func volumeLimit(node string, plan *cloudprovider.InstanceType) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
		Name: volumeDriver, NodeID: node,
		Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(int32(volumesOf(plan)))}, //nolint:gosec // at most 63
	}}}}
}

func sortedPods(pods []*corev1.Pod) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// recorder keeps the last message of each kind about each object that core publishes.
type recorder struct {
	last map[recorded]string
}

// recorded names a kind of message about an object.
type recorded struct {
	object client.ObjectKey
	reason string
}

func (r *recorder) Publish(published ...events.Event) {
	for _, event := range published {
		object, ok := event.InvolvedObject.(client.Object)
		if !ok {
			continue
		}
		if _, isClaim := object.(*karpv1.NodeClaim); isClaim {
			continue // the Node has the same message
		}
		if r.last == nil {
			r.last = map[recorded]string{}
		}
		r.last[recorded{client.ObjectKeyFromObject(object), event.Reason}] = event.Message
	}
}

// of returns the last message of a kind about an object.
func (r *recorder) of(object client.ObjectKey, reason string) string {
	return r.last[recorded{object, reason}]
}

// forget drops all messages.
func (r *recorder) forget() { r.last = nil }
