package clusterapi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/kube"
)

// managed is a management cluster with objects in YAML, which knows LinodeMachines alone.
func managed(t *testing.T, manifests ...string) (*kube.Backend, *fake.FakeDynamicClient) {
	t.Helper()
	var objects []runtime.Object
	for _, manifest := range manifests {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
			t.Fatalf("the test's YAML: %v\n%s", err, manifest)
		}
		u.SetNamespace("fleet")
		objects = append(objects, u)
	}
	kinds := map[schema.GroupVersionResource]string{}
	for resource, kind := range map[string]string{"machinedeployments": "MachineDeploymentList", "machinesets": "MachineSetList",
		"machines": "MachineList", "machinepools": "MachinePoolList"} {
		kinds[schema.GroupVersionResource{Group: capi, Version: "v1beta2", Resource: resource}] = kind
	}
	kinds[schema.GroupVersionResource{Group: infrastructure, Version: "v1beta2", Resource: "linodemachines"}] = "LinodeMachineList"
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: infrastructure, Version: "v1beta2"}})
	mapper.Add(schema.GroupVersionKind{Group: infrastructure, Version: "v1beta2", Kind: "LinodeMachine"}, meta.RESTScopeNamespace)
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	return kube.New(client, mapper, "fleet", "shop"), client
}

func deploymentOf(cluster, name, labels, spec string) string {
	return `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: ` + name +
		`, labels: {cluster.x-k8s.io/cluster-name: ` + cluster + labels + `}}, spec: {clusterName: ` + cluster + `, rollout: {strategy: {type: OnDelete}}` + spec + `}}`
}

const enabled = `, ` + clusterapi.EnabledLabel + `: "true"`

func machineOf(name, deployment, annotations, kind, more string) string {
	return `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: ` + name + `, annotations: {` + annotations +
		`}, labels: {cluster.x-k8s.io/cluster-name: shop, cluster.x-k8s.io/deployment-name: ` + deployment +
		`}}, spec: {infrastructureRef: {apiGroup: ` + infrastructure + `, kind: ` + kind + `, name: ` + name + `}` + more + `}}`
}

func TestAMachineOfAnUnknownKindHoldsNoOtherUp(t *testing.T) {
	const claimed = clusterapi.ClaimAnnotation + `: "a/u"`
	b, client := managed(t,
		deploymentOf("shop", "ours", enabled, ""), deploymentOf("shop", "theirs", "", ""),
		deploymentOf("other", "foreign", enabled, ""), deploymentOf("shop", "odd", enabled, `, replicas: "many"`),
		machineOf("good", "ours", "", "LinodeMachine", ""), machineOf("unknown", "ours", "", "MoonMachine", ""),
		machineOf("broken", "ours", claimed, "LinodeMachine", `, taints: none`), machineOf("left", "theirs", "", "MoonMachine", ""),
		machineOf("kept", "theirs", claimed, "LinodeMachine", `, providerID: "linode://7"`),
		`{apiVersion: `+infrastructure+`/v1beta2, kind: LinodeMachine, metadata: {name: good, labels: {cluster.x-k8s.io/cluster-name: shop}},
			status: {conditions: [{type: PreflightCreated, status: "False", message: "[400] [type] sold out"}]}}`,
	)
	w, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	machines := map[string]clusterapi.Machine{}
	for _, m := range w.Machines {
		machines[m.Name] = m
	}
	if len(machines) != 4 {
		t.Errorf("read: %+v", machines)
	}
	if m := machines["good"]; m.Failure == nil {
		t.Errorf("what is known of the machine beside the unknown one is lost: %+v", m)
	}
	for name, why := range map[string]string{"unknown": "conditions of its MoonMachine cannot be read",
		"broken": "Machine broken cannot be read"} {
		if m := machines[name]; m.Failure != nil || !strings.Contains(m.Pending, why) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if machines["broken"].Claim.Name != "a" || machines["kept"].ProviderID != "linode://7" {
		t.Errorf("a claim is lost: %+v", machines)
	}
	deployments := map[string]string{}
	for _, d := range w.Deployments {
		deployments[d.Name] = d.Refusal
	}
	if len(deployments) != 2 || deployments["ours"] != "" || !strings.Contains(deployments["odd"], "cannot be read") {
		t.Errorf("deployments: %v", deployments)
	}

	client.PrependReactor("list", "linodemachines", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no rights")
	})
	if w, err = b.Read(t.Context()); err != nil || len(w.Machines) != 4 {
		t.Errorf("without a right on the infrastructure provider's machines: %v, %+v", err, w.Machines)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Read(ended); err == nil {
		t.Error("a reading that was canceled succeeds")
	}
}

func TestClustersThatShareTheNamespaceAreNamed(t *testing.T) {
	b, _ := managed(t, deploymentOf("shop", "ours", "", ""), machineOf("m", "ours", "", "LinodeMachine", ""))
	if others, err := b.OtherClusters(t.Context()); err != nil || len(others) > 0 {
		t.Errorf("alone: %v, %v", others, err)
	}
	b, _ = managed(t, deploymentOf("shop", "ours", "", ""), deploymentOf("zoo", "a", "", ""), deploymentOf("bank", "b", "", ""),
		strings.ReplaceAll(machineOf("m", "c", "", "LinodeMachine", ""), "cluster-name: shop", "cluster-name: mine"))
	if others, err := b.OtherClusters(t.Context()); err != nil || strings.Join(others, " ") != "bank mine zoo" {
		t.Errorf("shared: %v, %v", others, err)
	}
}
