package charttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

const theController = "system:serviceaccount:kube-system:karpenter"

func manifestOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func nodeClaimNamed(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return manifestOf(t, fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s}
spec:
  nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
  requirements: []`, name))
}

func nodePoolWith(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return manifestOf(t, fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: []
  %s`, name, spec))
}

// as is a client of another user who may do everything.
func (b bare) as(t *testing.T, user string) client.Client {
	t.Helper()
	return as(t, b.config, user, "system:masters", "system:authenticated")
}

// With the admission policy even an administrator cannot create a NodeClaim or write its status, and a NodePool without limits is
// refused. The controller, and users whom the values exempt, can do all of this.
func TestAdmissionPolicyKeepsNodeClaimsToTheController(t *testing.T) {
	b := withDefinitions(t)
	ctx := t.Context()
	// From before the policy.
	old := nodePoolWith(t, "old", "weight: 1")
	accepted(t, "a NodePool before the policy", b.Create(ctx, old))
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "settings": map[string]any{"clusterName": "demo"},
		"admissionPolicy": map[string]any{"enabled": true, "exemptUsers": []any{"repairs"}},
	}, charts.ResetValues)
	controller, admin, exempt := b.as(t, theController), b.as(t, "admin"), b.as(t, "repairs")
	enforced(t, b)

	claim := nodeClaimNamed(t, "made-by-hand")
	refused(t, "a NodeClaim by an administrator", admin.Create(ctx, claim.DeepCopy()), "only Karpenter's controller")
	accepted(t, "a NodeClaim by a user whom the values exempt", exempt.Create(ctx, nodeClaimNamed(t, "repaired")))
	accepted(t, "a NodeClaim by the controller", controller.Create(ctx, claim))
	stolen := func() *unstructured.Unstructured {
		changed := claim.DeepCopy()
		if err := unstructured.SetNestedField(changed.Object, "linode://94907002", "status", "providerID"); err != nil {
			t.Fatal(err)
		}
		return changed
	}
	refused(t, "a provider ID by an administrator", admin.Status().Patch(ctx, stolen(), client.MergeFrom(claim)),
		"only Karpenter's controller")
	accepted(t, "a provider ID by the controller", controller.Status().Patch(ctx, stolen(), client.MergeFrom(claim)))
	accepted(t, "the end of a NodeClaim by an administrator", admin.Delete(ctx, nodeClaimNamed(t, "made-by-hand")))

	refused(t, "a NodePool without limits", admin.Create(ctx, nodePoolWith(t, "endless", "weight: 1")), "spec.limits")
	refused(t, "a NodePool with other limits", admin.Create(ctx, nodePoolWith(t, "endless", `limits: {ephemeral-storage: 1Gi}`)),
		"spec.limits")
	refused(t, "a static NodePool without limits", admin.Create(ctx, nodePoolWith(t, "endless", "replicas: 2")), "spec.limits.nodes")
	refused(t, "a NodePool whose limits are removed", removeLimits(ctx, t, admin), "spec.limits")
	for name, spec := range map[string]string{"cpu": `limits: {cpu: "10"}`, "memory": `limits: {memory: 10Gi}`,
		"nodes": `limits: {nodes: "3"}`, "static": "replicas: 2\n  limits: {nodes: \"3\"}"} {
		accepted(t, "a NodePool with "+spec, admin.Create(ctx, nodePoolWith(t, name, spec)))
	}

	annotated := old.DeepCopy()
	annotated.SetAnnotations(map[string]string{"karpenter.sh/nodepool-hash": "1"})
	accepted(t, "an annotation on a NodePool from before", controller.Patch(ctx, annotated, client.MergeFrom(old)))
	accepted(t, "the end of a NodePool from before", admin.Delete(ctx, old))
}

// Without a value the NodeClaims are the controller's alone, and NodePools are as they were.
func TestNodeClaimsAreTheControllersWithoutAValue(t *testing.T) {
	b := withDefinitions(t)
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "settings": map[string]any{"clusterName": "demo"},
	}, charts.ResetValues)
	enforced(t, b)
	controller, admin := b.as(t, theController), b.as(t, "admin")
	refused(t, "a NodeClaim by an administrator", admin.Create(t.Context(), nodeClaimNamed(t, "control-plane-1")),
		"only Karpenter's controller")
	accepted(t, "a NodeClaim by the controller", controller.Create(t.Context(), nodeClaimNamed(t, "default-a")))
	accepted(t, "a NodePool without limits", admin.Create(t.Context(), nodePoolWith(t, "endless", "weight: 1")))
}

// served waits until the API server serves the kinds of the chart karpenter-crd, which it does a moment after they were installed.
func (b bare) served(t *testing.T) {
	t.Helper()
	for _, definition := range crds.All() {
		for _, version := range definition.Spec.Versions {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{
				Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.ListKind})
			if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
				return b.List(ctx, list) == nil, nil
			}); err != nil {
				t.Fatalf("%s of version %s is never served: %v", definition.Name, version.Name, err)
			}
		}
	}
}

// enforced waits until the API server enforces all admission policies that it has by now. It compiles them together, a moment after one
// was written: a policy of this test's own is the last. A wait for what a chart's policy refuses would take its whole time for a policy
// that refuses nothing.
func enforced(t *testing.T, administrator client.Client) {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), time.Now().UnixNano())
	policy := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name != '%[1]s'", message: the last policy is enforced}]`, name)
	binding := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}`, name)
	for _, text := range []string{policy, binding} {
		object := manifestOf(t, text)
		if err := administrator.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = administrator.Delete(context.Background(), object) })
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := administrator.Create(ctx, manifestOf(t, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: default}}`,
			name)), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "the last policy is enforced"), nil
	}); err != nil {
		t.Fatalf("the API server enforces no policy: %v", err)
	}
}

func removeLimits(ctx context.Context, t *testing.T, admin client.Client) error {
	t.Helper()
	pool := nodePoolWith(t, "limited", `limits: {cpu: "1"}`)
	if err := admin.Create(ctx, pool); err != nil {
		t.Fatal(err)
	}
	changed := pool.DeepCopy()
	unstructured.RemoveNestedField(changed.Object, "spec", "limits")
	return admin.Patch(ctx, changed, client.MergeFrom(pool))
}

func refused(t *testing.T, what string, err error, words string) {
	t.Helper()
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: got %v, want a refusal with %q", what, err, words)
	}
}

func accepted(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
