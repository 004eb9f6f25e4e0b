package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	nodepoolutil "sigs.k8s.io/karpenter/pkg/utils/nodepool"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	linodeprovider "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/requirement"
)

// Pod explains a pod by namespace/name.
func (e Explainer) Pod(name string) (Explanation, error) {
	namespace, bare, ok := strings.Cut(name, "/")
	if !ok {
		namespace, bare = "default", name
	}
	pod := find(e.Cluster.Pods, namespace, bare)
	if pod == nil {
		return Explanation{}, fmt.Errorf("there is no pod %s in namespace %s", bare, namespace)
	}
	x := Explanation{Subject: "pod " + namespace + "/" + bare}
	switch {
	case podutil.IsTerminal(pod):
		x.add("It has ended (%s): it needs no node.", pod.Status.Phase)
	case pod.Spec.NodeName != "":
		x.add("It runs on node %s.", pod.Spec.NodeName)
		if pod.Annotations[karpv1.DoNotDisruptAnnotationKey] != "" {
			x.add("Its annotation %s keeps that node from being removed.", karpv1.DoNotDisruptAnnotationKey)
		}
	case podutil.IsOwnedByDaemonSet(pod):
		x.add("It is of a DaemonSet: Karpenter counts it on every node and makes no node for it.")
	case !podutil.FailedToSchedule(pod):
		x.add("The scheduler has not found yet that it fits nowhere: Karpenter acts when the pod's condition PodScheduled is Unschedulable.")
	case len(e.Cluster.NodePools) == 0:
		x.add("It waits, and there is no NodePool: Karpenter may make no node.")
	default:
		return x, e.waiting(&x, pod)
	}
	return x, nil
}

func (e Explainer) waiting(x *Explanation, pod *corev1.Pod) error {
	placed, err := e.Present.Placement(client.ObjectKeyFromObject(pod))
	if err != nil {
		return err
	}
	switch {
	case placed.Node != "":
		x.add("Karpenter plans to place it on %s, which exists or is joining.", placed.Node)
		return nil
	case placed.Plan != "":
		x.add("Karpenter makes a node for it: NodePool %s gets %s.", placed.NodePool, e.priced(placed.Plan))
		return nil
	}
	x.add("It waits, because no NodePool can make a node for it.")
	nodePools := slices.Clone(e.Cluster.NodePools)
	nodepoolutil.OrderByWeight(nodePools)
	for _, nodePool := range nodePools {
		if reason := e.excludes(nodePool, pod); reason != "" {
			x.add("NodePool %s: %s", nodePool.Name, sentence(reason))
		}
	}
	x.add("Karpenter's scheduler: %s", sentence(placed.Reason))
	return nil
}

// excludes returns why a NodePool makes no node for a pod, "" if nothing of what is checked here excludes it.
func (e Explainer) excludes(nodePool *karpv1.NodePool, pod *corev1.Pod) string {
	spec := nodePool.Spec.Template.Spec
	switch ready := nodePool.StatusConditions().Root(); {
	case !nodePool.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case !nodeclaim.Ours(spec.NodeClassRef):
		return "it is not of this provider"
	case nodepoolutil.IsStatic(nodePool):
		return "it is static: its number of nodes is fixed"
	case offhours.Held(nodePool) != "":
		return offhours.Held(nodePool)
	case !ready.IsTrue():
		return "it is not ready: " + ready.Message
	}
	if err := scheduling.Taints(spec.Taints).ToleratesPod(pod); err != nil {
		return "the pod " + err.Error()
	}
	own := scheduling.NewNodeSelectorRequirementsWithMinValues(spec.Requirements...)
	own.Add(scheduling.NewLabelRequirements(nodePool.Spec.Template.Labels).Values()...)
	own.Add(scheduling.NewRequirement(karpv1.NodePoolLabelKey, corev1.NodeSelectorOpIn, nodePool.Name))
	wanted := scheduling.NewStrictPodRequirements(pod)
	if err := own.Compatible(wanted, scheduling.AllowUndefinedWellKnownLabels); err != nil {
		return err.Error()
	}
	all := e.Present.InstanceTypes(nodePool)
	claim := &karpv1.NodeClaim{}
	claim.Spec.Resources.Requests = e.requests(nodePool, pod)
	claim.Spec.Requirements = append(slices.Clone(spec.Requirements), selectors(wanted)...)
	plan, err := linodeprovider.Cheapest(all, claim)
	if err != nil {
		return strings.TrimPrefix(err.Error(), "no Linode type can be bought for the NodeClaim: ") + e.nearest(nodePool, wanted, claim, all)
	}
	return e.limited(nodePool, plan)
}

// nearest names the cheapest plan that would hold the pod, and what of the NodePool excludes it.
func (e Explainer) nearest(nodePool *karpv1.NodePool, wanted scheduling.Requirements, claim *karpv1.NodeClaim,
	all []*cloudprovider.InstanceType,
) string {
	free := claim.DeepCopy()
	free.Spec.Requirements = selectors(wanted)
	plan, err := linodeprovider.Cheapest(all, free)
	if err != nil {
		return ""
	}
	excluding := requirement.Excluding(nodePool.Spec.Template.Spec.Requirements, plan)
	if len(excluding) == 0 {
		return ""
	}
	return fmt.Sprintf("; the nearest plan is %s, which the requirement %s excludes", e.priced(plan.Name), strings.Join(excluding, " and "))
}

// limited returns the limit that one more node of a plan would exceed.
func (e Explainer) limited(nodePool *karpv1.NodePool, plan *cloudprovider.InstanceType) string {
	used := resources.Merge(corev1.ResourceList{})
	for _, node := range e.Cluster.Nodes {
		if node.Labels[karpv1.NodePoolLabelKey] == nodePool.Name {
			used = resources.Merge(used, node.Status.Capacity, corev1.ResourceList{resources.Node: resource.MustParse("1")})
		}
	}
	more := resources.Merge(used, plan.Capacity, corev1.ResourceList{resources.Node: resource.MustParse("1")})
	for _, name := range sortedNames(nodePool.Spec.Limits) {
		limit, next, now := nodePool.Spec.Limits[name], more[name], used[name]
		if next.Cmp(limit) > 0 {
			return fmt.Sprintf("its limit of %s %s leaves no room: its nodes have %s, and %s, the smallest that holds the pod, would make it %s",
				limit.String(), name, now.String(), plan.Name, next.String())
		}
	}
	return ""
}

// requests are those of a pod and of the DaemonSets on a node of the NodePool.
func (e Explainer) requests(nodePool *karpv1.NodePool, pod *corev1.Pod) corev1.ResourceList {
	pods := []*corev1.Pod{pod}
	labels := scheduling.NewNodeSelectorRequirementsWithMinValues(nodePool.Spec.Template.Spec.Requirements...)
	labels.Add(scheduling.NewLabelRequirements(nodePool.Spec.Template.Labels).Values()...)
	for _, set := range e.Cluster.DaemonSets {
		daemon := daemonset.PodForDaemonSet(set)
		if scheduling.Taints(nodePool.Spec.Template.Spec.Taints).ToleratesPod(daemon) == nil &&
			labels.Compatible(scheduling.NewStrictPodRequirements(daemon), scheduling.AllowUndefinedWellKnownLabels) == nil {
			pods = append(pods, daemon)
		}
	}
	return resources.RequestsForPods(pods...)
}

// selectors are requirements as a NodeClaim spells them, in order of their keys.
func selectors(requirements scheduling.Requirements) []requirement.Selector {
	list := requirements.NodeSelectorRequirements()
	slices.SortFunc(list, func(a, b requirement.Selector) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func sortedNames(limits karpv1.Limits) (names []corev1.ResourceName) {
	for name := range limits {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
