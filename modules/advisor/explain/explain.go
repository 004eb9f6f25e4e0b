// Package explain answers in sentences why a pod waits, why a node has its plan, and why consolidation leaves it.
//
// The present state comes first: whether an operator works, the pod's NodeClaim, conditions, events and pauses (Reports). Karpenter's
// plan comes last, and only if the present state allows a plan: while a NodeClaim cannot be launched, Karpenter plans nothing.
//
// Plans come from the code that decides: core's scheduler and consolidation methods run over the cluster as it is (whatif.Present), plans
// are chosen by the provider's own function, and requirements are explained by package requirement. Texts of core are quoted as they are.
// An answer is about one moment, and explain changes nothing. It does not know the state at the time when a node was made.
//
// A name is the name of a pod, a node or a NodeClaim. A pod without a namespace is searched in all namespaces. If several objects have
// the name, the error lists them. A cluster in files has no Reports. If a part of the Reports could not be read, the last sentence names
// it.
//
// Explanations are sentences with a reason and, if there is one, a remedy. A Lease counts as held for its duration and five seconds more.
// Warnings older than five minutes are left out. An error means that no object or several objects have the name, or that the kind is not
// pod, node or nodeclaim.
//
// A sentence names three objects at most.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
)

// Explanation is an answer.
type Explanation struct {
	Subject   string   `json:"subject"`
	Sentences []string `json:"sentences"`
}

func (e *Explanation) add(format string, values ...any) {
	e.Sentences = append(e.Sentences, fmt.Sprintf(format, values...))
}

// Explainer explains objects of one cluster.
type Explainer struct {
	Cluster *snapshot.Snapshot
	Present *whatif.Present
	Reports *Reports // nil = the cluster is in files, which have none
	Now     time.Time
}

// Object explains the object with a kind (pod, node or nodeclaim) and a name. The name of a pod is namespace/name.
func (e Explainer) Object(kind, name string) (Explanation, error) {
	x, err := e.object(kind, name)
	if err == nil && e.Reports != nil && len(e.Reports.Unread) > 0 {
		x.add("These could not be read, so the explanation is without them: %s.", strings.Join(e.Reports.Unread, "; "))
	}
	return x, err
}

func (e Explainer) object(kind, name string) (Explanation, error) {
	switch kind {
	case "pod":
		return e.pod(name)
	case "node":
		if node := find(e.Cluster.Nodes, "", name); node != nil {
			return e.node(node)
		}
		return Explanation{}, fmt.Errorf("there is no node %s", name)
	case "nodeclaim":
		if claim := find(e.Cluster.NodeClaims, "", name); claim != nil {
			return e.claim(claim)
		}
		return Explanation{}, fmt.Errorf("there is no NodeClaim %s", name)
	}
	return Explanation{}, fmt.Errorf("%q is not one of pod, node, nodeclaim", kind)
}

// Any explains the pod, node or NodeClaim with a name, if only one of them has the name. A pod without a namespace is searched in all
// namespaces.
func (e Explainer) Any(name string) (Explanation, error) {
	var found []string
	if strings.Contains(name, "/") {
		return e.Object("pod", name)
	}
	for _, pod := range e.Cluster.Pods {
		if pod.Name == name {
			found = append(found, "pod "+pod.Namespace+"/"+name)
		}
	}
	if find(e.Cluster.Nodes, "", name) != nil {
		found = append(found, "node "+name)
	}
	if find(e.Cluster.NodeClaims, "", name) != nil {
		found = append(found, "nodeclaim "+name)
	}
	if len(found) != 1 {
		if len(found) == 0 {
			return Explanation{}, fmt.Errorf("no pod, node or NodeClaim is named %s", name)
		}
		return Explanation{}, fmt.Errorf("%s has several meanings: %s", name, strings.Join(found, ", "))
	}
	kind, full, _ := strings.Cut(found[0], " ")
	return e.Object(kind, full)
}

func find[P client.Object](list []P, namespace, name string) (found P) {
	if i := slices.IndexFunc(list, func(o P) bool { return o.GetNamespace() == namespace && o.GetName() == name }); i >= 0 {
		return list[i]
	}
	return found
}

// claimOf returns the NodeClaim of a node, nil if it has none.
func (e Explainer) claimOf(node *corev1.Node) *karpv1.NodeClaim {
	i := slices.IndexFunc(e.Cluster.NodeClaims, func(c *karpv1.NodeClaim) bool {
		return c.Status.ProviderID != "" && c.Status.ProviderID == node.Spec.ProviderID
	})
	if i < 0 {
		return nil
	}
	return e.Cluster.NodeClaims[i]
}

func (e Explainer) nodePool(name string) *karpv1.NodePool { return find(e.Cluster.NodePools, "", name) }

// priced returns a plan's name with its price.
func (e Explainer) priced(plan string) string {
	if price := e.Present.Monthly(plan); price > 0 {
		return fmt.Sprintf("%s ($%s a month)", plan, strings.TrimSuffix(fmt.Sprintf("%.2f", price), ".00"))
	}
	return cmp.Or(plan, "an unknown plan")
}

// sentence ends a text with a stop.
func sentence(text string) string { return strings.TrimRight(strings.TrimSpace(text), ".") + "." }
