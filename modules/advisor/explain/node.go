package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clock "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/leaving"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
)

func (e Explainer) node(node *corev1.Node) (Explanation, error) {
	x := Explanation{Subject: "node " + node.Name}
	claim := e.claimOf(node)
	x.add("It is of %s, plan %s.", whatif.PoolOf(node), e.priced(node.Labels[corev1.LabelInstanceTypeStable]))
	if claim == nil {
		x.add("Karpenter has not made it, and leaves it alone.")
		return x, nil
	}
	e.stopped(&x)
	e.lifecycle(&x, "It", claim)
	e.events(&x, "NodeClaim", claim.Name)
	e.whyThisPlan(&x, claim)
	e.single(&x, node)
	return x, errors.Join(e.whyItStays(&x, node, claim), e.budgets(&x, node, claim))
}

func (e Explainer) claim(claim *karpv1.NodeClaim) (Explanation, error) {
	x := Explanation{Subject: "NodeClaim " + claim.Name}
	x.add("It is of NodePool %s%s.", cmp.Or(claim.Labels[karpv1.NodePoolLabelKey], "(none)"), e.planOf(claim))
	e.stopped(&x)
	e.lifecycle(&x, "It", claim)
	e.events(&x, "NodeClaim", claim.Name)
	if !claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
		e.trouble(&x, claim.Labels[karpv1.NodePoolLabelKey])
	}
	e.whyThisPlan(&x, claim)
	i := slices.IndexFunc(e.Cluster.Nodes, func(n *corev1.Node) bool {
		return claim.Status.ProviderID != "" && n.Spec.ProviderID == claim.Status.ProviderID
	})
	if i < 0 {
		return x, nil
	}
	x.add("Its node is %s.", e.Cluster.Nodes[i].Name)
	return x, errors.Join(e.whyItStays(&x, e.Cluster.Nodes[i], claim), e.budgets(&x, e.Cluster.Nodes[i], claim))
}

func (e Explainer) planOf(claim *karpv1.NodeClaim) string {
	if plan := claim.Labels[corev1.LabelInstanceTypeStable]; plan != "" {
		return ", plan " + e.priced(plan)
	}
	return ""
}

// lifecycle adds the step for which a NodeClaim waits, and the next step. who is the word for the NodeClaim in the sentences.
func (e Explainer) lifecycle(x *Explanation, who string, claim *karpv1.NodeClaim) {
	if !claim.DeletionTimestamp.IsZero() {
		x.add("%s is being deleted: its pods are evicted, then the Linode is removed.", who)
	}
	for _, step := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		if condition := claim.StatusConditions().Get(step); !condition.IsTrue() {
			text := "nothing is reported"
			if condition != nil {
				text = cmp.Or(condition.Message, condition.Reason, text)
				if condition.Reason != "" && condition.Reason != text && condition.Reason != step && condition.Reason != "AwaitingReconciliation" {
					text = condition.Reason + ": " + text
				}
			}
			x.add("%s is not %s yet: %s", who, strings.ToLower(step), sentence(text))
			break
		}
	}
	if drifted := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted); drifted.IsTrue() {
		x.add("%s is drifted (%s): it is replaced as budgets allow.", who, cmp.Or(drifted.Reason, drifted.Message))
	}
}

// whyThisPlan compares the plan with cheaper plans.
func (e Explainer) whyThisPlan(x *Explanation, claim *karpv1.NodeClaim) {
	nodePool := e.nodePool(claim.Labels[karpv1.NodePoolLabelKey])
	name := claim.Labels[corev1.LabelInstanceTypeStable]
	if nodePool == nil || name == "" {
		return
	}
	all := slices.Clone(e.Present.InstanceTypes(nodePool))
	i := slices.IndexFunc(all, func(it *cloudprovider.InstanceType) bool { return it.Name == name })
	if i < 0 {
		x.add("Its plan is not offered any more.")
		return
	}
	price := hourly(all[i])
	// A plan without an offering has no price here. The comparison would regard it as free.
	cheaper := slices.DeleteFunc(all, func(it *cloudprovider.InstanceType) bool {
		return hourly(it) <= 0 || hourly(it) >= price
	})
	slices.SortFunc(cheaper, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Or(cmp.Compare(hourly(b), hourly(a)), cmp.Compare(a.Name, b.Name))
	})
	requests := claim.Spec.Resources.Requests
	if price <= 0 {
		x.add("The price of its plan is not known, so it is not compared with other plans.")
		return
	}
	if len(cheaper) == 0 {
		x.add("Its plan is the cheapest that there is.")
		return
	}
	x.add("Its plan was chosen for %s.", amounts(requests))
	const shown = 3
	for _, it := range cheaper[:min(len(cheaper), shown)] {
		how := "Cheaper"
		if e.Present.Monthly(it.Name) > e.Present.Monthly(name) { // Karpenter compares hours, and Linode caps the months of some plans
			how = "Cheaper by the hour"
		}
		x.add("%s, %s: %s.", how, e.priced(it.Name), notChosen(it, nodePool, claim))
	}
	if more := len(cheaper) - shown; more > 0 {
		x.add("%d more plans are cheaper still.", more)
	}
}

// notChosen returns why Karpenter has not chosen a cheaper plan.
func notChosen(it *cloudprovider.InstanceType, nodePool *karpv1.NodePool, claim *karpv1.NodeClaim) string {
	if texts := requirement.Excluding(nodePool.Spec.Template.Spec.Requirements, it); len(texts) > 0 {
		return "the NodePool requires " + strings.Join(texts, " and ")
	}
	requests := claim.Spec.Resources.Requests
	if !resources.Fits(requests, it.Allocatable()) {
		var short []string
		for _, name := range resourceNames(requests) {
			if want, has := requests[name], it.Allocatable()[name]; want.Cmp(has) > 0 {
				short = append(short, fmt.Sprintf("%s %s of %s", name, has.String(), want.String()))
			}
		}
		return "it has " + strings.Join(short, ", ")
	}
	var pods []requirement.Selector
	for _, r := range claim.Spec.Requirements {
		if r.Key != corev1.LabelInstanceTypeStable {
			pods = append(pods, r)
		}
	}
	if texts := requirement.Excluding(pods, it); len(texts) > 0 {
		return "its pods require " + strings.Join(texts, " and ")
	}
	if len(it.Offerings.Available()) == 0 {
		return "it is not available now"
	}
	return "it would do now; consolidation decides about that"
}

// whyItStays adds what consolidation would do with the node now.
func (e Explainer) whyItStays(x *Explanation, node *corev1.Node, claim *karpv1.NodeClaim) error {
	if !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	judged, err := e.Present.Judge(node.Name)
	if err != nil {
		return err
	}
	switch {
	case judged.Removes:
		x.add("Consolidation would remove it now: its pods, if it has any, fit on other nodes.")
	case judged.Replaces != "":
		x.add("Consolidation would replace it now by %s.", e.priced(judged.Replaces))
	case len(judged.Reasons) > 0:
		for _, reason := range judged.Reasons {
			x.add("Consolidation leaves it: %s", sentence(reason))
		}
	case !claim.StatusConditions().Get(karpv1.ConditionTypeConsolidatable).IsTrue():
		after := ""
		if nodePool := e.nodePool(claim.Labels[karpv1.NodePoolLabelKey]); nodePool != nil {
			if d := nodePool.Spec.Disruption.ConsolidateAfter.Duration; d != nil {
				after = fmt.Sprintf(" (consolidateAfter is %s)", d)
			}
		}
		x.add("Consolidation leaves it for now: it is not long enough since a pod came or went%s.", after)
	case judged.Allowed > 0:
		x.add("Consolidation leaves it: its pods fit on no other node, and no cheaper plan holds them.")
	}
	return nil
}

// budgets adds the pods that may not be evicted from a node. If all pods may be evicted, it adds the nodes that use up the NodePool's
// budgets.
func (e Explainer) budgets(x *Explanation, node *corev1.Node, claim *karpv1.NodeClaim) error {
	const shown = 3
	store, clk := objectstore.New(), clock.NewFakeClock(e.Now)
	for _, budget := range e.Cluster.Budgets {
		store.Put(budget)
	}
	limits, err := leaving.LimitsOf(context.Background(), store)
	if err != nil {
		return err
	}
	holds := leaving.Holds(e.podsOn(node.Name), limits, clk)
	for _, hold := range holds[:min(len(holds), shown)] {
		x.add("A pod keeps it: %s.", hold)
	}
	if more := len(holds) - shown; more > 0 {
		x.add("%d more of its pods may not be evicted.", more)
	}
	nodePool := e.nodePool(claim.Labels[karpv1.NodePoolLabelKey])
	if nodePool == nil || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	use, err := leaving.Of(nodePool, leaving.Members(nodePool.Name, e.Cluster.NodeClaims, e.Cluster.Nodes, e.podsOn), limits, clk)
	switch {
	case err != nil:
		return err
	case use.Allowed == 0:
		x.add("The budgets of its NodePool let no node go now.")
	case use.Exhausted():
		x.add("The budgets of its NodePool let %d leave at a time, and other nodes use the budgets up.", use.Allowed)
		for _, other := range use.By[:min(len(use.By), shown)] {
			x.add("The budgets count %s.", other)
		}
	}
	return nil
}

func (e Explainer) podsOn(node string) (pods []*corev1.Pod) {
	for _, pod := range e.Cluster.Pods {
		if pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	return pods
}

// hourly returns the lowest price of a plan, 0 if no offering has a price.
func hourly(it *cloudprovider.InstanceType) float64 {
	if len(it.Offerings) == 0 {
		return 0
	}
	return it.Offerings.Cheapest().Price
}

func amounts(list corev1.ResourceList) string {
	var texts []string
	for _, name := range resourceNames(list) {
		q := list[name]
		texts = append(texts, fmt.Sprintf("%s %s", name, q.String()))
	}
	return cmp.Or(strings.Join(texts, ", "), "no requests")
}

func resourceNames(list corev1.ResourceList) (names []corev1.ResourceName) {
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
