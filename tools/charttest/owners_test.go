package charttest

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// No request shows that the rights on finalizers are used: the admission plugin OwnerReferencesPermissionEnforcement
// requires them when Karpenter sets owners. This test sets owners with and without each.
func TestRightsOnFinalizersAreNeeded(t *testing.T) {
	needServer(t)
	r := mustRender(t, "karpenter", quickstart, `{fullnameOverride: owners, serviceAccount: {create: false, name: owners}}`)
	all := get[rbacv1.ClusterRole](t, r, "ClusterRole", "owners")
	binding := get[rbacv1.ClusterRoleBinding](t, r, "ClusterRoleBinding", "owners")
	ctx := context.Background()
	for _, o := range []client.Object{&all, &binding} {
		if err := api.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Delete(ctx, o) })
	}
	operator := as(t, apiConfig, "system:serviceaccount:kube-system:owners")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "owned"}}
	if err := api.Create(ctx, node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(ctx, node) })

	claim := object("NodeClaim", "karpenter.sh/v1", "owned", map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
		"requirements": []any{map[string]any{"key": "kubernetes.io/os", "operator": "In", "values": []any{"linux"}}},
	})
	own(claim, "karpenter.sh/v1", "NodePool")
	patch := client.MergeFrom(node.DeepCopy())
	owned := node.DeepCopy()
	own(owned, "karpenter.sh/v1", "NodeClaim")
	for _, test := range []struct {
		without string
		try     func() error
	}{
		{"nodepools/finalizers", func() error { return operator.Create(ctx, claim.DeepCopy(), client.DryRunAll) }},
		{"nodeclaims/finalizers", func() error { return operator.Patch(ctx, owned.DeepCopy(), patch, client.DryRunAll) }},
	} {
		t.Run(test.without, func(t *testing.T) {
			setRules(t, &all, without(all.Rules, test.without))
			eventually(t, "refused without the right", func() bool { return apierrors.IsForbidden(test.try()) })
			setRules(t, &all, get[rbacv1.ClusterRole](t, r, "ClusterRole", "owners").Rules)
			eventually(t, "allowed with the right", func() bool { return test.try() == nil })
		})
	}
}

func own(o client.Object, version, kind string) {
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "owner", UID: "1", Controller: &yes,
		BlockOwnerDeletion: &yes}})
}

// as is a client of another user.
func as(t *testing.T, config *rest.Config, user string, groups ...string) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func without(rules []rbacv1.PolicyRule, resource string) []rbacv1.PolicyRule {
	var rest []rbacv1.PolicyRule
	for _, rule := range rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(name string) bool { return name == resource })
		if len(rule.Resources) > 0 {
			rest = append(rest, rule)
		}
	}
	return rest
}

// eventually waits for the authorizer, which reads a changed role a moment later.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Errorf("not %s", what)
	}
}

func setRules(t *testing.T, role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule) {
	t.Helper()
	role.Rules = rules
	if err := api.Update(context.Background(), role); err != nil {
		t.Fatal(err)
	}
}
