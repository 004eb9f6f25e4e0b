package kube

import (
	"cmp"
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

// Read reads deployments and sets, then Machines, and the infrastructure provider's machines if some Machine has no provider ID yet. The
// result has only the deployments of the Cluster that have opted in (clusterapi.EnabledLabel is "true"), their Machines, and every other
// Machine of the Cluster that has a claim and the label of a deployment. The package doc describes objects that cannot be read.
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
	var w clusterapi.World
	enabled := map[string]bool{}
	for _, d := range deployments {
		if clusterOf(d) == b.cluster {
			enabled[d.of.Name] = true
			w.Deployments = append(w.Deployments, d.of.convert(sets, d.problem))
		}
	}
	machines = slices.DeleteFunc(machines, func(m item[machine]) bool {
		return !enabled[m.of.Labels[deploymentLabel]] && m.of.Annotations[clusterapi.ClaimAnnotation] == ""
	})
	infra := b.infrastructure(ctx, machines)
	if err := ctx.Err(); err != nil {
		return clusterapi.World{}, failure(op, "machines of the infrastructure provider", err)
	}
	for _, m := range machines {
		w.Machines = append(w.Machines, m.of.convert(infra, m.problem))
	}
	return w, nil
}

// item is an object as far as it can be decoded.
type item[T any] struct {
	of      T
	problem string // why of has only metadata, "" if of is complete
}

// list reads all objects that match a selector, as new as the request. If a field of an object has an unknown type, the object has only
// its metadata.
func list[T any](ctx context.Context, of dynamic.ResourceInterface, selector string) ([]item[T], error) {
	found, err := of.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	all := make([]item[T], 0, len(found.Items))
	for _, u := range found.Items {
		one, err := decode[T](u)
		if err == nil {
			all = append(all, item[T]{of: one})
			continue
		}
		problem := fmt.Sprintf("%s %s cannot be read: %s", u.GetKind(), u.GetName(), err)
		if one, err = decode[T](unstructured.Unstructured{Object: map[string]any{"metadata": u.Object["metadata"]}}); err != nil {
			return nil, fmt.Errorf("decoding the metadata of %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		all = append(all, item[T]{one, problem})
	}
	return all, nil
}

// infrastructure lists the machines of the kinds that Machines without provider ID have: their conditions contain
// refusals that the Machine does not mirror. CAPL notes a refused creation in a condition of its own
// (internal/controller/linodemachine_controller.go, reconcilePreflightCreate), and sets Ready only later. A kind
// that cannot be read has a problem instead: its provider is not installed, or the right to list it is missing.
func (b *Backend) infrastructure(ctx context.Context, machines []item[machine]) infrastructure {
	kinds := map[schema.GroupKind]bool{}
	for _, m := range machines {
		if ref := m.of.Spec.InfrastructureRef; m.of.Spec.ProviderID == "" && ref.Name != "" {
			kinds[schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}] = true
		}
	}
	found := infrastructure{map[clusterapi.TemplateRef]infraMachine{}, map[schema.GroupKind]string{}}
	order := func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), order) {
		if err := b.readInfrastructure(ctx, kind, found.machines); err != nil {
			found.problems[kind] = fmt.Sprintf("the conditions of its %s cannot be read: %s", kind.Kind, err)
		}
	}
	return found
}

func (b *Backend) readInfrastructure(ctx context.Context, kind schema.GroupKind, to map[clusterapi.TemplateRef]infraMachine) error {
	mapping, err := b.mapper.RESTMapping(kind)
	if err != nil {
		return fmt.Errorf("finding the resource of %s: %w", kind, err)
	}
	all, err := list[infraMachine](ctx, b.client.Resource(mapping.Resource).Namespace(b.namespace), clusterLabel+"="+b.cluster)
	if err != nil {
		return err
	}
	for _, one := range all {
		to[clusterapi.TemplateRef{APIGroup: kind.Group, Kind: kind.Kind, Name: one.of.Name}] = one.of
	}
	return nil
}

// infrastructure has the infrastructure provider's machines, and the kinds that cannot be read.
type infrastructure struct {
	machines map[clusterapi.TemplateRef]infraMachine
	problems map[schema.GroupKind]string
}

// Template reads the template of a deployment. Its version is the API server's preferred version.
func (b *Backend) Template(ctx context.Context, ref clusterapi.TemplateRef) (*unstructured.Unstructured, error) {
	const op = "read template"
	mapping, err := b.mapper.RESTMapping(schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind})
	if err != nil {
		return nil, &claims.Error{Kind: claims.KindUnavailable, Op: op, Object: ref.Kind, Effect: claims.EffectNone, Err: err}
	}
	found, err := b.client.Resource(mapping.Resource).Namespace(b.namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return found, failure(op, ref.Kind+" "+ref.Name, err)
}

// OtherClusters returns the names of other Clusters that have MachineDeployments or Machines in the namespace: a right on objects of
// these kinds covers all objects of a namespace.
func (b *Backend) OtherClusters(ctx context.Context) ([]string, error) {
	others := map[string]bool{}
	for _, resource := range []string{"machinedeployments", "machines"} {
		found, err := b.resource(resource).List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "," + clusterLabel + "!=" + b.cluster})
		if err != nil {
			return nil, failure("list "+resource, "", err)
		}
		for _, u := range found.Items {
			others[u.GetLabels()[clusterLabel]] = true
		}
	}
	return slices.Sorted(maps.Keys(others)), nil
}

// EnabledMachinePools returns the names of MachinePools with the label, which this engine cannot use.
func (b *Backend) EnabledMachinePools(ctx context.Context) ([]string, error) {
	found, err := b.resource("machinepools").List(ctx, metav1.ListOptions{LabelSelector: clusterapi.EnabledLabel + "=true"})
	if err != nil {
		return nil, failure("list MachinePools", "", err)
	}
	var names []string
	for _, u := range found.Items {
		names = append(names, u.GetName())
	}
	return names, nil
}

// clusterOf returns the Cluster of a deployment. The label names the Cluster where the spec cannot be read.
func clusterOf(d item[machineDeployment]) string {
	if d.problem != "" {
		return d.of.Labels[clusterLabel]
	}
	return d.of.Spec.ClusterName
}

// convert returns a deployment; a deployment with a problem is not used.
func (d machineDeployment) convert(sets []item[machineSet], problem string) clusterapi.Deployment {
	template := d.Spec.Template.Spec
	result := clusterapi.Deployment{
		Name: d.Name, UID: string(d.UID), ResourceVersion: d.ResourceVersion, Labels: d.Labels, Annotations: d.Annotations,
		Template: template.InfrastructureRef.public(), Bootstrap: template.Bootstrap.ConfigRef.public(),
		NodeLabels: d.Spec.Template.Metadata.Labels, Taints: template.Taints,
		Refusal: cmp.Or(problem, d.refusal()), Replicas: ptr.Deref(d.Spec.Replicas, 0),
		Observed: problem == "" && d.Status.ObservedGeneration == d.Generation,
		Removal:  clusterapi.ParseRemoval(d.Annotations[clusterapi.RemovalAnnotation]),
	}
	_, paused := d.Annotations[pausedAnnotation]
	result.Paused = paused && slices.ContainsFunc(d.Status.Conditions, func(c condition) bool {
		return c.Type == pausedCondition && c.Status == conditionTrue
	})
	for _, set := range sets {
		s := set.of
		if owner := metav1.GetControllerOf(&s.ObjectMeta); owner == nil || owner.UID != d.UID {
			continue
		}
		result.Sets = append(result.Sets, clusterapi.Set{
			Name: s.Name, ResourceVersion: s.ResourceVersion, Created: s.CreationTimestamp.Time, Replicas: ptr.Deref(s.Spec.Replicas, 0),
			Observed: set.problem == "" && s.Status.ObservedGeneration == s.Generation,
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

func (m machine) convert(infra infrastructure, problem string) clusterapi.Machine {
	mark, marked := m.Annotations[clusterapi.DeleteMachineAnnotation]
	ref := m.Spec.InfrastructureRef.public()
	result := clusterapi.Machine{
		Name: m.Name, UID: string(m.UID), ResourceVersion: m.ResourceVersion, Deployment: m.Labels[deploymentLabel], Set: m.Labels[setLabel],
		Claim: clusterapi.ParseClaim(m.Annotations[clusterapi.ClaimAnnotation]), Released: mark == clusterapi.ReleasedValue,
		Marked: marked && mark != clusterapi.ReleasedValue, Deleting: m.DeletionTimestamp != nil, ProviderID: m.Spec.ProviderID,
		NodeName: ref.Name, Phase: m.Status.Phase, Created: m.CreationTimestamp.Time,
	}
	if owner := metav1.GetControllerOf(&m.ObjectMeta); owner != nil {
		result.Set = owner.Name
	}
	if result.ProviderID == "" {
		result.Pending, result.Failure = pending(m, infra.machines[ref])
		result.Pending = cmp.Or(problem, result.Pending, infra.problems[schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}])
	}
	return result
}
