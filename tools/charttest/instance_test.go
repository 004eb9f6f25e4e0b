package charttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

const instanceMode = `{region: us-ord, settings: {mode: instance, instance: {secrets: [{namespace: kube-system, name: k3s-agent}]}}}`

// All rights that only instance mode has: tokens in kube-system, cluster-info, and the listed Secrets.
func TestRightsOfInstanceMode(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, instanceMode)
	for _, role := range []struct {
		name, namespace string
		want            []string
	}{
		{"karpenter-bootstrap-tokens", "kube-system", []string{"secrets: create delete"}},
		{"karpenter-cluster-info", "kube-public", []string{"configmaps: get only cluster-info"}},
		{"karpenter-secret-k3s-agent", "kube-system", []string{"secrets: get only k3s-agent"}},
	} {
		got, bound := get[rbacv1.Role](t, r, "Role", role.name), get[rbacv1.RoleBinding](t, r, "RoleBinding", role.name)
		if got.Namespace != role.namespace || !reflect.DeepEqual(rights(got.Rules), role.want) {
			t.Errorf("%s in %s: %v", role.name, got.Namespace, rights(got.Rules))
		}
		if bound.Namespace != role.namespace || bound.RoleRef.Name != role.name || len(bound.Subjects) != 1 ||
			bound.Subjects[0].Name != "karpenter" {
			t.Errorf("%s is bound by %+v", role.name, bound)
		}
	}
}

// Joining nodes get what kubeadm gives to its own tokens, by the group of the operator's tokens alone, and no certificate without the
// operator's approval.
func TestJoiningNodesMayDoWhatKubeadmsTokensMay(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, instanceMode)
	want := []string{"kubeadm:get-nodes", "system:node-bootstrapper"}
	for _, role := range want {
		bound := get[rbacv1.ClusterRoleBinding](t, r, "ClusterRoleBinding", "karpenter:"+role)
		if bound.RoleRef.Name != role || len(bound.Subjects) != 1 || bound.Subjects[0].Kind != "Group" ||
			bound.Subjects[0].Name != "system:bootstrappers:karpenter" {
			t.Errorf("%s is bound by %+v", role, bound)
		}
	}
	for _, object := range r.objects {
		if object.GetKind() == "ClusterRoleBinding" && strings.HasSuffix(object.GetName(), ":nodeclient") {
			t.Errorf("%s lets Kubernetes approve a certificate for any node name", object.GetName())
		}
	}
	for _, role := range []string{"kubeadm:nodes-kubeadm-config", "kubeadm:kubelet-config"} {
		bound := get[rbacv1.RoleBinding](t, r, "RoleBinding", "karpenter:"+role)
		if bound.Namespace != "kube-system" || bound.Subjects[0].Name != "system:bootstrappers:karpenter" {
			t.Errorf("%s is bound by %+v", role, bound)
		}
	}
}

// If no node joins with its own bootstrap token, the chart grants no right on bootstrap tokens.
func TestWithoutBootstrapTokensTheirRightsAreNotGranted(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, instanceMode, `settings: {instance: {bootstrapTokens: false}}`)
	for _, object := range r.objects {
		if name := object.GetName(); strings.Contains(name, "bootstrap") || strings.Contains(name, "kubeadm") ||
			strings.Contains(name, "certificates") {
			t.Errorf("there is %s %s", object.GetKind(), name)
		}
	}
	if got := get[rbacv1.Role](t, r, "Role", "karpenter-secret-k3s-agent"); len(got.Rules) != 1 {
		t.Errorf("the listed Secret has %d rules", len(got.Rules))
	}
	if got := environment(t, quickstart, instanceMode, `settings: {instance: {bootstrapTokens: false}}`)["BOOTSTRAP_TOKENS"]; got != "false" {
		t.Errorf("BOOTSTRAP_TOKENS is %q", got)
	}
}

// A Secret that a class names is in the user data of nodes. So neither a bootstrap token nor the operator's own token can be listed.
func TestNoCredentialOfTheClusterCanBeListedForClasses(t *testing.T) {
	listed := func(name string) string {
		return `{region: us-ord, settings: {mode: instance, instance: {secrets: [{namespace: kube-system, name: ` + name + `}]}}}`
	}
	for _, test := range []struct{ values, name, want string }{
		{quickstart, "bootstrap-token-abcdef", "a bootstrap token"},
		{quickstart, "karpenter", "the operator's own API token"},
		{`{apiToken: "", credentialsSecretRef: mine}`, "mine", "the operator's own API token"},
	} {
		if _, err := render(t, "karpenter", quickstart, test.values, listed(test.name)); err == nil ||
			!strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "kube-system/"+test.name) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestOnLKENothingOfInstanceModeIsGranted(t *testing.T) {
	for _, object := range mustRender(t, "karpenter", quickstart).objects {
		name := object.GetName()
		if slices.ContainsFunc([]string{"bootstrap", "cluster-info", "kubeadm", "secret-"},
			func(word string) bool { return strings.Contains(name, word) }) {
			t.Errorf("there is %s %s", object.GetKind(), name)
		}
	}
}

// The right to approve is limited to signers of kubelets. The right for serving certificates exists only if a value enables it.
func TestApprovalOfServingCertificatesIsOffByDefault(t *testing.T) {
	const name, on = "karpenter-node-certificates", `{settings: {instance: {approveServingCertificates: true}}}`
	role := get[rbacv1.ClusterRole](t, mustRender(t, "karpenter", quickstart, instanceMode, on), "ClusterRole", name)
	const clients, servers = " kubernetes.io/kube-apiserver-client-kubelet", " kubernetes.io/kubelet-serving"
	want := []string{
		"certificates.k8s.io/certificatesigningrequests/approval: update", "certificates.k8s.io/certificatesigningrequests: list watch",
		"certificates.k8s.io/signers: approve only" + clients + servers,
	}
	if got := rights(role.Rules); !slices.Equal(got, want) {
		t.Errorf("the rights are %v", got)
	}
	role = get[rbacv1.ClusterRole](t, mustRender(t, "karpenter", quickstart, instanceMode), "ClusterRole", name)
	want[2] = "certificates.k8s.io/signers: approve only" + clients
	if got := rights(role.Rules); !slices.Equal(got, want) {
		t.Errorf("by default the rights are %v", got)
	}
	for _, object := range mustRender(t, "karpenter", quickstart, on).objects {
		if object.GetName() == name {
			t.Errorf("on LKE there is %s %s", object.GetKind(), name)
		}
	}
}
