package charttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

const instanceMode = `{region: us-ord, settings: {mode: instance, instance: {secrets: [{namespace: kube-system, name: k3s-agent}]}}}`

// What instance mode may do beside the rest, all of it: tokens in kube-system, cluster-info, and the Secrets that are listed.
func TestRightsOfInstanceMode(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, instanceMode)
	for _, role := range []struct {
		name, namespace string
		want            []string
	}{
		{"karpenter-bootstrap-tokens", "kube-system", []string{"secrets: get create delete"}},
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

// Joining nodes get what kubeadm gives to its own tokens, by the group of the operator's tokens alone.
func TestJoiningNodesMayDoWhatKubeadmsTokensMay(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, instanceMode)
	want := []string{"kubeadm:get-nodes", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", "system:node-bootstrapper"}
	for _, role := range want {
		bound := get[rbacv1.ClusterRoleBinding](t, r, "ClusterRoleBinding", "karpenter:"+role)
		if bound.RoleRef.Name != role || len(bound.Subjects) != 1 || bound.Subjects[0].Kind != "Group" ||
			bound.Subjects[0].Name != "system:bootstrappers:karpenter" {
			t.Errorf("%s is bound by %+v", role, bound)
		}
	}
	for _, role := range []string{"kubeadm:nodes-kubeadm-config", "kubeadm:kubelet-config"} {
		bound := get[rbacv1.RoleBinding](t, r, "RoleBinding", "karpenter:"+role)
		if bound.Namespace != "kube-system" || bound.Subjects[0].Name != "system:bootstrappers:karpenter" {
			t.Errorf("%s is bound by %+v", role, bound)
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

// The right to approve is limited to the one signer, and exists only where a value enables it.
func TestApprovalOfServingCertificatesIsOffByDefault(t *testing.T) {
	const name, on = "karpenter-serving-certificates", `{settings: {instance: {approveServingCertificates: true}}}`
	role := get[rbacv1.ClusterRole](t, mustRender(t, "karpenter", quickstart, instanceMode, on), "ClusterRole", name)
	want := []string{
		"certificates.k8s.io/certificatesigningrequests/approval: update", "certificates.k8s.io/certificatesigningrequests: list watch",
		"certificates.k8s.io/signers: approve only kubernetes.io/kubelet-serving",
	}
	if got := rights(role.Rules); !slices.Equal(got, want) {
		t.Errorf("the rights are %v", got)
	}
	for _, values := range [][]string{{quickstart, instanceMode}, {quickstart, on}} {
		for _, object := range mustRender(t, "karpenter", values...).objects {
			if object.GetName() == name {
				t.Errorf("with %v there is %s %s", values, object.GetKind(), name)
			}
		}
	}
}
