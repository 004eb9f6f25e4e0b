package clusterapi

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/kube"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// definition is a kind of Cluster API with its subresources, and with any fields.
func definition(group, kind, plural string,
	subresources *apiextensionsv1.CustomResourceSubresources) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural,
				Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1beta2", Served: true, Storage: true, Subresources: subresources,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
					XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
}

// fleet is a cluster that manages itself, with Cluster API's objects on a real API server.
type fleet struct {
	*testing.T
	*controllers
	config  *rest.Config
	backend *Backend
	view    *view
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	scaled := &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}}
	environment, err := apiserver.Start([]*apiextensionsv1.CustomResourceDefinition{
		definition(capi, "MachineDeployment", "machinedeployments", scaled), definition(capi, "MachineSet", "machinesets", scaled),
		definition(capi, "Machine", "machines", nil), definition(capi, "MachinePool", "machinepools", nil),
		definition(infrastructure, "LinodeMachine", "linodemachines", nil),
		definition(infrastructure, "LinodeMachineTemplate", "linodemachinetemplates", nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{T: t, config: environment.Config}
	f.controllers = &controllers{client: f.must(dynamic.NewForConfig(environment.Config)), failed: make(chan error, 1)}
	f.newNamespace(environment.Config)
	for _, name := range []string{"small", "large", "sold-out"} {
		plan := map[string]string{"small": "g6-standard-2", "large": "g6-standard-4", "sold-out": "g6-standard-6"}[name]
		template := object(infrastructure, "LinodeMachineTemplate", name, map[string]any{
			"template": map[string]any{"spec": map[string]any{"type": plan, "region": region}}})
		f.create("linodemachinetemplates", template)
	}
	transport, err := rest.HTTPClientFor(environment.Config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(environment.Config, transport)
	if err != nil {
		t.Fatal(err)
	}
	platform := kube.New(f.client, mapper, namespace, cluster)
	engine, err := allocator.New(platform, clusterapi.Config{ReadInterval: 20 * time.Millisecond, CacheLag: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	engine.Begin()
	f.view = newView(platform, region, func(string) (float64, bool) { return 0.05, true })
	f.backend = &Backend{engine: engine, view: f.view}
	return f
}

func (f *fleet) must(client *dynamic.DynamicClient, err error) dynamic.Interface {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
	return client
}

func (f *fleet) newNamespace(config *rest.Config) {
	f.Helper()
	kubernetesClient, err := kubernetes.NewForConfig(config)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := kubernetesClient.CoreV1().Namespaces().Create(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) create(resource string, o *unstructured.Unstructured) {
	f.Helper()
	if _, err := f.of(resource).Create(f.Context(), o, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

// deploy creates a MachineDeployment.
func (f *fleet) deploy(name, template string, labels map[string]string) {
	f.Helper()
	d := object(capi, "MachineDeployment", name, map[string]any{"clusterName": cluster, "replicas": int64(0),
		"rollout":  map[string]any{"strategy": map[string]any{"type": "OnDelete"}},
		"template": map[string]any{"spec": map[string]any{"infrastructureRef": ref("LinodeMachineTemplate", template)}}})
	d.SetLabels(labels)
	f.create("machinedeployments", d)
}

func (f *fleet) get(resource, name string) *unstructured.Unstructured {
	f.Helper()
	o, err := f.of(resource).Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return o
}

// claim claims a node of a type for a NodeClaim.
func (f *fleet) claim(name, instanceType string) (cloudprovider.Node, error) {
	f.Helper()
	l := launch(name)
	l.InstanceType.Name = instanceType
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	node, err := f.backend.Claim(ctx, l)
	select {
	case failed := <-f.failed:
		f.Fatalf("a simulated controller: %v", failed)
	default:
	}
	return node, err
}

// A claim raises a count and takes a Machine. A release removes only that Machine, even a Machine of an older revision, which Cluster API
// would not choose. A refused creation has its kind. A real API server checks the preconditions of all writes.
func TestNodesComeAndGoOnARealAPIServer(t *testing.T) {
	f := newFleet(t)
	enabled := map[string]string{clusterapi.EnabledLabel: "true"}
	f.deploy("general", "small", enabled)
	f.deploy("scarce", "sold-out", enabled)
	f.deploy("foreign", "large", nil)
	if err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.view.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := f.view.check(t.Context(), nodes(), &v1alpha1.LinodeNodeClass{}); found.Reason != "" {
		t.Fatalf("%+v", found)
	}

	first, err := f.claim("first", "g6-standard-2")
	if err != nil || first.InstanceID == 0 || first.InstanceType != "g6-standard-2" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := f.claim("second", "g6-standard-2")
	if err != nil || second.InstanceID == first.InstanceID {
		t.Fatalf("%+v, %v", second, err)
	}
	again, err := f.claim("first", "g6-standard-2")
	if err != nil || again.InstanceID != first.InstanceID {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	if n := replicas(f.get("machinedeployments", "general")); n != 2 {
		t.Errorf("%d replicas for two NodeClaims", n)
	}

	if _, err := f.claim("scarce", "g6-standard-6"); claims.KindOf(err) != claims.KindInsufficientCapacity {
		t.Errorf("a plan that is sold out: %v", err)
	}
	if _, err := f.claim("none", "g6-standard-4"); claims.KindOf(err) != claims.KindConflict {
		t.Errorf("a deployment that has not opted in: %v", err)
	}

	f.newTemplate("general", "large")
	if drift := f.backend.Drift(t.Context(), f.known(second), launch("second")); drift != DriftMachineSet {
		t.Errorf("drift %q after a new template", drift)
	}
	third, err := f.claim("third", "g6-standard-4")
	if err != nil || f.backend.Drift(t.Context(), f.known(third), launch("third")) != "" {
		t.Fatalf("%+v, %v", third, err)
	}
	f.release("second", second)
	f.release("third", third)
	left, err := f.backend.List(t.Context())
	if err != nil || len(left) != 1 || left[0].InstanceID != first.InstanceID {
		t.Errorf("left are %+v, %v; want %d", left, err, first.InstanceID)
	}
	if _, is := f.get("machinedeployments", "general").GetAnnotations()[paused]; is {
		t.Error("the deployment is still paused")
	}
	if d := f.get("machinedeployments", "foreign"); replicas(d) != 0 || len(d.GetAnnotations()) != 1 {
		t.Errorf("the foreign deployment was changed: %v", d.GetAnnotations())
	}
}

// known returns a node as it is read now.
func (f *fleet) known(node cloudprovider.Node) cloudprovider.Node {
	f.Helper()
	now, err := f.backend.Get(f.Context(), node.InstanceID)
	if err != nil {
		f.Fatal(err)
	}
	return now
}

// newTemplate gives a deployment another template, and waits until its controller has acted on it.
func (f *fleet) newTemplate(deployment, template string) {
	f.Helper()
	changes, err := f.of("machinedeployments").Watch(f.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + deployment})
	if err != nil {
		f.Fatal(err)
	}
	defer changes.Stop()
	for {
		d := f.get("machinedeployments", deployment)
		_ = unstructured.SetNestedField(d.Object, template, "spec", "template", "spec", "infrastructureRef", "name")
		if _, err := f.of("machinedeployments").Update(f.Context(), d, metav1.UpdateOptions{}); err == nil {
			break
		}
	}
	for change := range changes.ResultChan() {
		d, is := change.Object.(*unstructured.Unstructured)
		observed := int64(0)
		if is {
			observed, _, _ = unstructured.NestedInt64(d.Object, "status", "observedGeneration")
		}
		if is && observed == d.GetGeneration() && d.GetAnnotations()[revision] == "2" {
			return
		}
	}
	f.Fatal("the watch ended before the controller acted on the template")
}

// release removes a node, and waits until a reading lacks its Machine.
func (f *fleet) release(name string, node cloudprovider.Node) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	for {
		err := f.backend.Release(ctx, node.InstanceID, nodeclaim.Claimant(launch(name).NodeClaim))
		if claims.KindOf(err) == claims.KindNotFound {
			return
		}
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
	}
}
