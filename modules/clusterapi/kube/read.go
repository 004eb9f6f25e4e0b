package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

func secondsOf(n int) time.Duration { return time.Duration(n) * time.Second }

// Read reads deployments and sets, then Machines, and the infrastructure provider's machines if some Machine has no provider ID yet.
func (b *Backend) Read(ctx context.Context) (clusterapi.World, error) {
	const op = "read cluster"
	ofCluster := labels.Set{clusterLabel: b.cluster}.String()
	deployments, err := list[machineDeployment](ctx, b.resource("machinedeployments"), clusterapi.EnabledLabel+"=true")
	if err != nil {
		return clusterapi.World{}, failure(op, "MachineDeployments", err)
	}
	sets, err := list[machineSet](ctx, b.resource("machinesets"), ofCluster)
	if err != nil {
		return clusterapi.World{}, failure(op, "MachineSets", err)
	}
	machines, err := list[machine](ctx, b.resource("machines"), ofCluster+","+deploymentLabel)
	if err != nil {
		return clusterapi.World{}, failure(op, "Machines", err)
	}
	infra, err := b.infrastructure(ctx, machines)
	if err != nil {
		return clusterapi.World{}, failure(op, "machines of the infrastructure provider", err)
	}
	var w clusterapi.World
	for _, d := range deployments {
		if d.Spec.ClusterName == b.cluster {
			w.Deployments = append(w.Deployments, d.convert(sets))
		}
	}
	for _, m := range machines {
		w.Machines = append(w.Machines, m.convert(infra))
	}
	return w, nil
}

// list reads all objects that match a selector, as new as the request.
func list[T any](ctx context.Context, of dynamic.ResourceInterface, selector string) ([]T, error) {
	found, err := of.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	all := make([]T, 0, len(found.Items))
	for _, item := range found.Items {
		one, err := decode[T](item)
		if err != nil {
			return nil, fmt.Errorf("decoding %s %s: %w", item.GetKind(), item.GetName(), err)
		}
		all = append(all, one)
	}
	return all, nil
}

// infrastructure lists the machines of the kinds that Machines without provider ID have: their conditions contain
// refusals that the Machine does not mirror. CAPL notes a refused creation in a condition of its own
// (internal/controller/linodemachine_controller.go, reconcilePreflightCreate), and sets Ready only later.
func (b *Backend) infrastructure(ctx context.Context, machines []machine) (map[clusterapi.TemplateRef]infraMachine, error) {
	kinds := map[schema.GroupKind]bool{}
	for _, m := range machines {
		if ref := m.Spec.InfrastructureRef; m.Spec.ProviderID == "" && ref.Name != "" {
			kinds[schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}] = true
		}
	}
	found := map[clusterapi.TemplateRef]infraMachine{}
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int { return compare(a.String(), b.String()) }) {
		mapping, err := b.mapper.RESTMapping(kind)
		if err != nil {
			return nil, fmt.Errorf("finding the resource of %s: %w", kind, err)
		}
		all, err := list[infraMachine](ctx, b.client.Resource(mapping.Resource).Namespace(b.namespace), clusterLabel+"="+b.cluster)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			found[clusterapi.TemplateRef{APIGroup: kind.Group, Kind: kind.Kind, Name: one.Name}] = one
		}
	}
	return found, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Template reads the template of a deployment. Its version is the one that the API server prefers.
func (b *Backend) Template(ctx context.Context, ref clusterapi.TemplateRef) (*unstructured.Unstructured, error) {
	const op = "read template"
	mapping, err := b.mapper.RESTMapping(schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind})
	if err != nil {
		return nil, &claims.Error{Kind: claims.KindUnavailable, Op: op, Object: ref.Kind, Effect: claims.EffectNone, Err: err}
	}
	found, err := b.client.Resource(mapping.Resource).Namespace(b.namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return found, failure(op, ref.Kind+" "+ref.Name, err)
}

// EnabledMachinePools returns the names of MachinePools with the label, which this engine cannot use.
func (b *Backend) EnabledMachinePools(ctx context.Context) ([]string, error) {
	found, err := b.resource("machinepools").List(ctx, metav1.ListOptions{LabelSelector: clusterapi.EnabledLabel + "=true"})
	if err != nil {
		return nil, failure("list MachinePools", "", err)
	}
	var names []string
	for _, item := range found.Items {
		names = append(names, item.GetName())
	}
	return names, nil
}

func (d machineDeployment) convert(sets []machineSet) clusterapi.Deployment {
	template := d.Spec.Template.Spec
	result := clusterapi.Deployment{
		Name: d.Name, UID: string(d.UID), ResourceVersion: d.ResourceVersion, Labels: d.Labels, Annotations: d.Annotations,
		Template: template.InfrastructureRef.public(), Bootstrap: template.Bootstrap.ConfigRef.public(),
		NodeLabels: d.Spec.Template.Metadata.Labels, Taints: template.Taints,
		Refusal: d.refusal(), Replicas: ptr.Deref(d.Spec.Replicas, 0), Observed: d.Status.ObservedGeneration == d.Generation,
		Removal: clusterapi.ParseRemoval(d.Annotations[clusterapi.RemovalAnnotation]),
	}
	_, paused := d.Annotations[pausedAnnotation]
	result.Paused = paused && slices.ContainsFunc(d.Status.Conditions, func(c condition) bool {
		return c.Type == pausedCondition && c.Status == conditionTrue
	})
	for _, s := range sets {
		if owner := metav1.GetControllerOf(&s.ObjectMeta); owner == nil || owner.UID != d.UID {
			continue
		}
		result.Sets = append(result.Sets, clusterapi.Set{
			Name: s.Name, ResourceVersion: s.ResourceVersion, Created: s.CreationTimestamp.Time, Replicas: ptr.Deref(s.Spec.Replicas, 0),
			Observed: s.Status.ObservedGeneration == s.Generation,
			Current:  s.Annotations[revisionAnnotation] != "" && s.Annotations[revisionAnnotation] == d.Annotations[revisionAnnotation],
		})
	}
	return result
}

// refusal returns why a deployment is not used, with a cure.
func (d machineDeployment) refusal() string {
	_, paused := d.Annotations[pausedAnnotation]
	removal := clusterapi.ParseRemoval(d.Annotations[clusterapi.RemovalAnnotation])
	strategy := d.Spec.Rollout.Strategy.Type
	switch {
	case d.DeletionTimestamp != nil:
		return "it is being deleted"
	case strategy != onDelete:
		return fmt.Sprintf("spec.rollout.strategy.type is %q; set it to %s, so that Karpenter replaces Machines under its budgets",
			strategy, onDelete)
	case d.Annotations[minSizeAnnotation] != "" || d.Annotations[maxSizeAnnotation] != "":
		return "it has the annotations of the cluster autoscaler; remove " + minSizeAnnotation + " and " + maxSizeAnnotation +
			", because two autoscalers undo each other's changes"
	case d.Spec.Paused:
		return "spec.paused is true; set it to false"
	case paused && removal.Set == "":
		return "it is paused; remove the annotation " + pausedAnnotation
	}
	return ""
}

func (m machine) convert(infra map[clusterapi.TemplateRef]infraMachine) clusterapi.Machine {
	mark, marked := m.Annotations[clusterapi.DeleteMachineAnnotation]
	ref := m.Spec.InfrastructureRef.public()
	result := clusterapi.Machine{
		Name: m.Name, UID: string(m.UID), ResourceVersion: m.ResourceVersion, Deployment: m.Labels[deploymentLabel], Set: m.Labels[setLabel],
		Claim: clusterapi.ParseClaim(m.Annotations[clusterapi.ClaimAnnotation]), Released: mark == clusterapi.ReleasedValue,
		Marked: marked && mark != clusterapi.ReleasedValue, Deleting: m.DeletionTimestamp != nil, ProviderID: m.Spec.ProviderID,
		NodeName: m.Status.NodeRef.Name, Phase: m.Status.Phase, Created: m.CreationTimestamp.Time,
	}
	if owner := metav1.GetControllerOf(&m.ObjectMeta); owner != nil {
		result.Set = owner.Name
	}
	if result.ProviderID == "" {
		result.Pending, result.Failure = pending(m, infra[ref])
	}
	return result
}
