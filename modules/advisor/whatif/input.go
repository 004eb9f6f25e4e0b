package whatif

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// PoolLabel is the label of LKE with the ID of a node's pool.
const PoolLabel = snapshot.PoolLabel

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// DefaultNodePool returns the NodePool for input without NodePools. It has the plans of the quickstart's NodePool, and no limits.
func DefaultNodePool() *karpv1.NodePool {
	return &karpv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "default"},
		Spec: karpv1.NodePoolSpec{
			Template: karpv1.NodeClaimTemplate{Spec: karpv1.NodeClaimTemplateSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"},
				Requirements: upTo(bounds[0]).requirements,
			}},
			Disruption: karpv1.Disruption{
				ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
				ConsolidateAfter:    karpv1.MustParseNillableDuration("0s"),
				Budgets:             []karpv1.Budget{{Nodes: "10%"}},
			},
		},
	}
}

// ready returns a copy of a NodePool as the simulation uses it: ready, and without budgets that a schedule opens and closes.
func ready(nodePool *karpv1.NodePool) *karpv1.NodePool {
	nodePool = nodePool.DeepCopy()
	if nodePool.UID == "" {
		nodePool.UID = types.UID(nodePool.Name)
	}
	nodePool.DeletionTimestamp = nil
	nodePool.Status = karpv1.NodePoolStatus{}
	for _, condition := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady} {
		nodePool.StatusConditions().SetTrue(condition)
	}
	nodePool.Spec.Disruption.Budgets = slices.DeleteFunc(nodePool.Spec.Disruption.Budgets, func(b karpv1.Budget) bool {
		return b.Schedule != nil
	})
	return nodePool
}

// pending returns a copy of a pod in the state before the scheduler has found a node for it.
func pending(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName, pod.DeletionTimestamp = "", nil
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}}
	return pod
}

// bound returns a copy of a pod that runs on a node.
func bound(pod *corev1.Pod, node string, since metav1.Time) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: ptr.To(since), Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}
	return pod
}

// movable returns whether a pod comes back on another node when its node goes.
func movable(pod *corev1.Pod) bool { return podutil.IsReschedulable(pod) }

// kept returns whether a node stays as it is: the user keeps it, or it is not a node that LKE or Karpenter made for pods.
func kept(node *corev1.Node, pools []string) bool {
	pool, ofLKE := node.Labels[PoolLabel]
	if ofLKE && slices.Contains(pools, pool) {
		return true
	}
	_, controlPlane := node.Labels[controlPlaneLabel]
	return controlPlane
}

// begin returns the time at which the simulation begins: the time of the snapshot, so that the result does not depend on when it runs.
func begin(s *snapshot.Snapshot) time.Time {
	newest := s.Newest()
	if newest.IsZero() {
		return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return newest.Add(time.Hour)
}

// rest returns a duration that is longer than every consolidateAfter of the NodePools.
func rest(nodePools []*karpv1.NodePool) time.Duration {
	longest := time.Hour
	for _, nodePool := range nodePools {
		longest = max(longest, ptr.Deref(nodePool.Spec.Disruption.ConsolidateAfter.Duration, 0))
	}
	return longest + time.Minute
}

func checkPools(s *snapshot.Snapshot, pools []string) error {
	var known []string
	for _, node := range s.Nodes {
		if pool := node.Labels[PoolLabel]; pool != "" && !slices.Contains(known, pool) {
			known = append(known, pool)
		}
	}
	slices.Sort(known)
	for _, pool := range pools {
		if !slices.Contains(known, pool) {
			return fmt.Errorf("no node is of pool %s; pools of the cluster: %v", pool, known)
		}
	}
	return nil
}
