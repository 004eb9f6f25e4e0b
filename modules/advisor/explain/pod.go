package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	nodepoolutil "sigs.k8s.io/karpenter/pkg/utils/nodepool"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
	linodeprovider "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

// pod explains a pod by namespace/name.
func (e Explainer) pod(name string) (Explanation, error) {
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
		if !podutil.IsDisruptable(pod, clock.NewFakeClock(e.Now), nil) {
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

// waiting explains a pod that needs a node from Karpenter. The present state comes first. Karpenter's plan follows if the present state
// allows it.
func (e Explainer) waiting(x *Explanation, pod *corev1.Pod) error {
	against := e.stopped(x)
	if e.beingMade(x, pod) || against {
		return nil
	}
	placed, err := e.Present.Placement(client.ObjectKeyFromObject(pod))
	if err != nil {
		return err
	}
	switch {
	case placed.Node != "":
		e.onExisting(x, placed)
	case placed.Plan != "":
		e.trouble(x, placed.NodePool)
		if refused := e.tokenRefused(); refused != "" {
			x.add("Karpenter can make no node: %s", sentence(refused))
			return nil
		}
		x.add("Karpenter makes a node for it: NodePool %s gets %s.", placed.NodePool, e.priced(placed.Plan))
		e.overdue(x, pod)
	default:
		x.add("It waits, because no NodePool can make a node for it.")
		e.excluding(x, pod, placed.Reason)
	}
	if e.Reports == nil {
		x.add("Files have neither the operator's Lease nor its pauses and events: Karpenter does this if it works and nothing was refused.")
	}
	return nil
}

// onExisting adds the existing node on which a pod is planned.
func (e Explainer) onExisting(x *Explanation, placed whatif.Placement) {
	claim := find(e.Cluster.NodeClaims, "", placed.Node)
	if node := find(e.Cluster.Nodes, "", placed.Node); node != nil {
		claim = e.claimOf(node)
	}
	if claim == nil || claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
		x.add("Node %s has room for it: Kubernetes' scheduler is to place it there.", placed.Node)
		return
	}
	x.add("Karpenter plans to place it on %s, which is joining.", placed.Node)
	e.lifecycle(x, "NodeClaim "+claim.Name, claim)
	e.events(x, "NodeClaim", claim.Name)
}

// overdue adds a sentence about a pod that waits longer than planning takes, although no known reason keeps Karpenter from making a node.
func (e Explainer) overdue(x *Explanation, pod *corev1.Pod) {
	const usual = time.Minute
	for _, condition := range pod.Status.Conditions {
		if since := condition.LastTransitionTime.Time; condition.Type == corev1.PodScheduled && !since.IsZero() &&
			e.Now.Sub(since) > usual && e.Reports != nil {
			x.add("It has waited for %s, and Karpenter plans within seconds: the operator's log has what keeps it.",
				duration.HumanDuration(e.Now.Sub(since)))
		}
	}
}

// A verdict is the reason why a NodePool makes no node for a pod.
type verdict struct {
	nodePool string
	reason   string // "" = none of the checks failed
	distance int    // how many of the pod's requirements the NodePool does not meet; 0 = its own state alone excludes it
}

// excluding adds the NodePools that are nearest to a pod, each with its reason. Core's text follows only if no reason is known here. Core
// compares the pod only with NodePools that can buy, so a label that only a paused NodePool has looks misspelt to core.
func (e Explainer) excluding(x *Explanation, pod *corev1.Pod, reason string) {
	const shown = 3
	verdicts := e.verdicts(pod)
	unknown := len(verdicts) == 0
	var others []string
	for i, v := range verdicts {
		if i >= shown || v.distance > verdicts[0].distance {
			others = append(others, v.nodePool)
			continue
		}
		unknown = unknown || v.reason == ""
		if v.reason != "" {
			x.add("NodePool %s: %s", v.nodePool, sentence(v.reason))
		}
		if v.distance == 0 {
			e.events(x, "NodePool", v.nodePool)
		}
	}
	if len(others) > 0 {
		x.add("It does not fit these NodePools either: %s.", requirement.List(others))
	}
	if unknown {
		x.add("Karpenter's scheduler: %s", sentence(reason))
	}
}

// verdicts returns the verdicts of all NodePools, the nearest first. Equally near NodePools are in the order in which Karpenter tries
// them.
func (e Explainer) verdicts(pod *corev1.Pod) (all []verdict) {
	nodePools := slices.Clone(e.Cluster.NodePools)
	nodepoolutil.OrderByWeight(nodePools)
	for _, nodePool := range nodePools {
		all = append(all, e.verdict(nodePool, pod))
	}
	slices.SortStableFunc(all, func(a, b verdict) int { return cmp.Compare(a.distance, b.distance) })
	return all
}

const elsewhere = 1000 // the distance of a NodePool that never makes nodes for pods

// verdict judges one NodePool.
func (e Explainer) verdict(nodePool *karpv1.NodePool, pod *corev1.Pod) verdict {
	v, spec := verdict{nodePool: nodePool.Name}, nodePool.Spec.Template.Spec
	switch {
	case !nodeclaim.Ours(spec.NodeClassRef):
		return verdict{nodePool.Name, "it is not of this provider", elsewhere}
	case nodepoolutil.IsStatic(nodePool):
		return verdict{nodePool.Name, "it is static: its number of nodes is fixed", elsewhere}
	}
	own := scheduling.NewNodeSelectorRequirementsWithMinValues(spec.Requirements...)
	own.Add(scheduling.NewLabelRequirements(nodePool.Spec.Template.Labels).Values()...)
	own.Add(scheduling.NewRequirement(karpv1.NodePoolLabelKey, corev1.NodeSelectorOpIn, nodePool.Name))
	wanted := scheduling.NewStrictPodRequirements(pod)
	for key, requirement := range wanted {
		if own.Compatible(scheduling.Requirements{key: requirement}, scheduling.AllowUndefinedWellKnownLabels) != nil {
			v.distance++
		}
	}
	if v.distance > 0 {
		v.reason = own.Compatible(wanted, scheduling.AllowUndefinedWellKnownLabels).Error()
	}
	if err := scheduling.Taints(spec.Taints).ToleratesPod(pod); err != nil {
		v.distance++
		v.reason = "the pod " + err.Error()
	}
	if v.distance == 0 {
		v.reason = cmp.Or(e.state(nodePool), e.tooLarge(nodePool, pod, wanted))
	}
	return v
}

// state returns why a NodePool buys nothing for any pod now, "" if it does.
func (e Explainer) state(nodePool *karpv1.NodePool) string {
	if !nodePool.DeletionTimestamp.IsZero() {
		return "it is being deleted"
	}
	if held := offhours.Held(nodePool); held != "" {
		return held
	}
	var class *v1alpha1.LinodeNodeClass
	if ref := nodePool.Spec.Template.Spec.NodeClassRef; ref != nil {
		class = find(e.Cluster.NodeClasses, "", ref.Name)
	}
	conditions := nodePool.StatusConditions()
	if !conditions.Root().IsTrue() {
		var texts []string
		for _, condition := range conditions.List() {
			if !condition.IsTrue() && slices.Contains([]string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady},
				condition.Type) {
				texts = append(texts, stated(condition))
			}
		}
		if class != nil && class.StatusConditions().Root().IsFalse() {
			text := class.StatusConditions().Root().Message
			if !slices.ContainsFunc(texts, func(known string) bool { return strings.Contains(known, text) }) {
				texts = append(texts, "LinodeNodeClass "+class.Name+": "+text)
			}
		}
		return "it is not ready: " + cmp.Or(strings.Join(texts, "; "), conditions.Root().Message, "nothing is reported")
	}
	if available := conditions.Get(nodepoolstatus.ConditionAvailable); available.IsFalse() {
		return "it buys nothing now: " + available.Message
	}
	if class != nil {
		if accepted := class.StatusConditions().Get(v1alpha1.ConditionLaunchesAccepted); accepted.IsFalse() {
			return "no launch of its LinodeNodeClass " + class.Name + " is tried now: " + accepted.Message
		}
	}
	return ""
}

// stated returns a condition in words.
func stated(condition status.Condition) string {
	return fmt.Sprintf("%s is %s, %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
}

// tooLarge returns why no plan of a NodePool can be bought for a pod: no plan holds the pod, or the cheapest would exceed a limit. It
// returns "" if a plan can be bought.
func (e Explainer) tooLarge(nodePool *karpv1.NodePool, pod *corev1.Pod, wanted scheduling.Requirements) string {
	all := e.Present.InstanceTypes(nodePool)
	claim := &karpv1.NodeClaim{}
	claim.Spec.Resources.Requests = e.requests(nodePool, pod)
	claim.Spec.Requirements = append(slices.Clone(nodePool.Spec.Template.Spec.Requirements), selectors(wanted)...)
	plan, err := linodeprovider.Cheapest(all, claim)
	if err == nil {
		return e.limited(nodePool, plan)
	}
	text := strings.TrimPrefix(err.Error(), "no Linode type can be bought for the NodeClaim: ")
	if why := e.withheld(nodePool, claim, all); why != "" {
		return text + "; " + why
	}
	return text + e.nearest(nodePool, wanted, claim, all)
}

// withheld returns why the operator does not buy the cheapest plan that holds a NodeClaim's pods, "" if the operator has another reason.
func (e Explainer) withheld(nodePool *karpv1.NodePool, claim *karpv1.NodeClaim, all []*cloudprovider.InstanceType) string {
	meeting := slices.Clone(requirement.Meeting(claim.Spec.Requirements, all))
	slices.SortStableFunc(meeting, func(a, b *cloudprovider.InstanceType) int { return cmp.Compare(hourly(a), hourly(b)) })
	for _, it := range meeting {
		if hourly(it) <= 0 { // no price is known
			continue
		}
		if why := e.Reports.Withheld(e.Cluster, nodePool.Name, it.Name, e.Now); why != "" &&
			resources.Fits(claim.Spec.Resources.Requests, it.Allocatable()) {
			return it.Name + ": " + why
		}
	}
	return ""
}

// nearest returns the cheapest plan that would hold the pod, and the requirement of the NodePool that excludes it.
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

// requests returns the requests of a pod and of the DaemonSets on a node of the NodePool.
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

// selectors returns requirements in the form of a NodeClaim, in the order of their keys.
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
