package clusterapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

const (
	namespace = "fleet"
	cluster   = "own"

	capi           = "cluster.x-k8s.io"
	infrastructure = "infrastructure.cluster.x-k8s.io"
	revision       = "machinedeployment.clusters.x-k8s.io/revision"
	paused         = "cluster.x-k8s.io/paused"
)

// controllers act on MachineDeployments and MachineSets of a real API server as the controllers of Cluster API v1.14 do
// (core/reconcilers/machinedeployment and machineset of sigs.k8s.io/cluster-api). They act at once; the schedules of module clusterapi
// have controllers that lag. Machines of the template "sold-out" cannot be made. All other Machines have provider IDs from the start.
type controllers struct {
	client dynamic.Interface
	failed chan error
	ids    int
}

func (c *controllers) of(resource string) dynamic.ResourceInterface {
	group := capi
	if strings.HasPrefix(resource, "linode") {
		group = infrastructure
	}
	return c.client.Resource(schema.GroupVersionResource{Group: group, Version: "v1beta2", Resource: resource}).Namespace(namespace)
}

// run makes a pass after each change, until ctx ends.
func (c *controllers) run(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	for _, resource := range []string{"machinedeployments", "machinesets", "machines"} {
		changes, err := c.of(resource).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		go func() {
			for range changes.ResultChan() {
				select {
				case changed <- struct{}{}:
				default: // a pass is due already, and will see this change
				}
			}
		}()
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			// A change in this time is a separate event, and the next pass sees it.
			if err := c.pass(ctx); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
				select {
				case c.failed <- err:
				default:
				}
			}
		}
	}()
	return nil
}

func (c *controllers) pass(ctx context.Context) error {
	deployments, err := c.of("machinedeployments").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if err := c.deployment(ctx, &d); err != nil {
			return err
		}
	}
	sets, err := c.of("machinesets").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, s := range sets.Items {
		if err := c.set(ctx, &s); err != nil {
			return err
		}
	}
	return nil
}

// deployment keeps one MachineSet for each template, and the sum of their counts at its own: the newest grows, the oldest shrinks first.
func (c *controllers) deployment(ctx context.Context, d *unstructured.Unstructured) error {
	if _, is := d.GetAnnotations()[paused]; is {
		return c.observed(ctx, "machinedeployments", d, "True")
	}
	all, err := c.of("machinesets").List(ctx, metav1.ListOptions{LabelSelector: capi + "/deployment-name=" + d.GetName()})
	if err != nil {
		return err
	}
	sets := all.Items
	slices.SortFunc(sets, func(a, b unstructured.Unstructured) int { return cmp.Compare(number(&a), number(&b)) })
	template := text(d, "spec", "template", "spec", "infrastructureRef", "name")
	i := slices.IndexFunc(sets, func(s unstructured.Unstructured) bool {
		return text(&s, "spec", "template", "spec", "infrastructureRef", "name") == template
	})
	if i < 0 {
		_, err := c.of("machinesets").Create(ctx, newSet(d, len(sets)+1), metav1.CreateOptions{})
		return err
	}
	if current := strconv.Itoa(number(&sets[i])); d.GetAnnotations()[revision] != current {
		annotate(d, revision, current)
		_, err := c.of("machinedeployments").Update(ctx, d, metav1.UpdateOptions{})
		return err
	}
	missing := replicas(d)
	for _, s := range sets {
		missing -= replicas(&s)
	}
	for j := range sets {
		target := replicas(&sets[j]) + max(missing, -replicas(&sets[j]))
		if missing == 0 || missing > 0 && j != i {
			continue
		}
		missing -= target - replicas(&sets[j])
		_ = unstructured.SetNestedField(sets[j].Object, int64(target), "spec", "replicas")
		if _, err := c.of("machinesets").Update(ctx, &sets[j], metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return c.observed(ctx, "machinedeployments", d, "False")
}

// set makes Machines, or deletes some, marked Machines first.
func (c *controllers) set(ctx context.Context, s *unstructured.Unstructured) error {
	all, err := c.of("machines").List(ctx, metav1.ListOptions{LabelSelector: capi + "/set-name=" + s.GetName()})
	if err != nil {
		return err
	}
	slices.SortFunc(all.Items, func(a, b unstructured.Unstructured) int { return -cmp.Compare(marked(&a), marked(&b)) })
	for range replicas(s) - len(all.Items) {
		if err := c.machine(ctx, s); err != nil {
			return err
		}
	}
	for _, m := range all.Items[:max(0, len(all.Items)-replicas(s))] {
		if err := c.of("machines").Delete(ctx, m.GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return c.observed(ctx, "machinesets", s, "False")
}

// machine makes a Machine. A refused one has the condition that CAPL sets (internal/controller/linodemachine_controller.go).
func (c *controllers) machine(ctx context.Context, s *unstructured.Unstructured) error {
	c.ids++
	template, name := text(s, "spec", "template", "spec", "infrastructureRef", "name"), fmt.Sprintf("%s-%d", s.GetName(), c.ids)
	m := object(capi, "Machine", name, map[string]any{"infrastructureRef": ref("LinodeMachine", name)})
	m.SetLabels(map[string]string{capi + "/cluster-name": cluster, capi + "/deployment-name": s.GetLabels()[capi+"/deployment-name"],
		capi + "/set-name": s.GetName()})
	m.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(s, s.GroupVersionKind())})
	if template != "sold-out" {
		_ = unstructured.SetNestedField(m.Object, clusterapi.ProviderIDPrefix+strconv.Itoa(1000+c.ids), "spec", "providerID")
	}
	infra := object(infrastructure, "LinodeMachine", name, nil)
	infra.SetLabels(m.GetLabels())
	infra.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "PreflightCreated", "status": "False",
		"reason": "CreateError", "message": "[400] [type] this plan is not available in us-ord"}}}
	if template == "sold-out" {
		if _, err := c.of("linodemachines").Create(ctx, infra, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	_, err := c.of("machines").Create(ctx, m, metav1.CreateOptions{})
	return err
}

// observed writes the status after a pass, if it differs.
func (c *controllers) observed(ctx context.Context, resource string, o *unstructured.Unstructured, isPaused string) error {
	seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); seen == o.GetGeneration() && len(conditions) == 1 &&
		conditions[0].(map[string]any)["status"] == isPaused {
		return nil
	}
	o.Object["status"] = map[string]any{"observedGeneration": o.GetGeneration(), "replicas": int64(replicas(o)),
		"conditions": []any{map[string]any{"type": "Paused", "status": isPaused}}}
	_, err := c.of(resource).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

func newSet(d *unstructured.Unstructured, number int) *unstructured.Unstructured {
	template, _, _ := unstructured.NestedMap(d.Object, "spec", "template")
	s := object(capi, "MachineSet", fmt.Sprintf("%s-%d", d.GetName(), number), map[string]any{"replicas": int64(0), "template": template})
	s.SetLabels(map[string]string{capi + "/cluster-name": cluster, capi + "/deployment-name": d.GetName()})
	s.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(d, d.GroupVersionKind())})
	annotate(s, revision, strconv.Itoa(number))
	return s
}

func object(group, kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1beta2", "kind": kind}}
	o.SetName(name)
	o.SetNamespace(namespace)
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

func ref(kind, name string) map[string]any {
	return map[string]any{"apiGroup": infrastructure, "kind": kind, "name": name}
}

func annotate(o *unstructured.Unstructured, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

func replicas(o *unstructured.Unstructured) int {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return int(n)
}

// number is the revision of a set.
func number(s *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(s.GetAnnotations()[revision])
	return n
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

func marked(m *unstructured.Unstructured) int {
	if _, is := m.GetAnnotations()[clusterapi.DeleteMachineAnnotation]; is {
		return 1
	}
	return 0
}
