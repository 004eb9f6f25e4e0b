package charttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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
	b := startBare(t)
	b.install(t, "karpenter-crd", "../../charts/karpenter-crd", nil, charts.ResetValues)
	ctx := t.Context()
	// From before the policy.
	old := nodePoolWith(t, "old", "weight: 1")
	// The API server serves a definition a moment after it was installed.
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := b.Create(ctx, old)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	}); err != nil {
		t.Fatal(err)
	}
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "settings": map[string]any{"clusterName": "demo"},
		"admissionPolicy": map[string]any{"enabled": true, "exemptUsers": []any{"repairs"}},
	}, charts.ResetValues)
	controller, admin, exempt := b.as(t, theController), b.as(t, "admin"), b.as(t, "repairs")
	b.untilEnforced(t, admin)

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
	b := startBare(t)
	b.install(t, "karpenter-crd", "../../charts/karpenter-crd", nil, charts.ResetValues)
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "settings": map[string]any{"clusterName": "demo"},
	}, charts.ResetValues)
	controller, admin := b.as(t, theController), b.as(t, "admin")
	// The API server serves a definition, and compiles a policy, a moment after each was installed.
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := admin.Create(ctx, nodeClaimNamed(t, "control-plane-1"), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "only Karpenter's controller"), nil
	}); err != nil {
		t.Fatalf("a NodeClaim by an administrator is never refused: %v", err)
	}
	accepted(t, "a NodeClaim by the controller", controller.Create(t.Context(), nodeClaimNamed(t, "default-a")))
	accepted(t, "a NodePool without limits", admin.Create(t.Context(), nodePoolWith(t, "endless", "weight: 1")))
}

// untilEnforced waits until the API server has compiled the policies, which takes it a moment.
func (b bare) untilEnforced(t *testing.T, admin client.Client) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		claim := admin.Create(ctx, nodeClaimNamed(t, "probe"), client.DryRunAll)
		pool := admin.Create(ctx, nodePoolWith(t, "probe", "weight: 1"), client.DryRunAll)
		return claim != nil && pool != nil, nil
	}); err != nil {
		t.Fatalf("the policies are never enforced: %v", err)
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
