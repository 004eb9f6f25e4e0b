package instance_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/allowlist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
)

// A writer of classes gets no Secret into user data except Secrets that the administrator has listed, and no credential of the cluster or
// of the operator in any way.
func TestOnlyListedSecretsAreReadForClasses(t *testing.T) {
	account := secret("account", "a service account's")
	account.Type = corev1.SecretTypeServiceAccountToken
	bootstrap := secret("bootstrap-token-abcdef", "0123456789abcdef")
	bootstrap.Type = "bootstrap.kubernetes.io/token"
	renamed := secret("renamed", "0123456789abcdef")
	renamed.Type = bootstrap.Type
	script := func(data string) *corev1.Secret {
		return secret("data", "#!/bin/sh\n: ${KARPENTER_KUBELET_ARGS} "+data+"\n")
	}
	const userData, token = "spec.bootstrap.userDataSecretRef", "spec.bootstrap.tokenSecretRef"
	for _, test := range []struct {
		name, field, secret string
		unlisted            bool
		stored              *corev1.Secret
		want                string // of the message; "" = it is read
	}{
		{"listed", userData, "data", false, script("hello"), ""},
		{"not listed", userData, "data", true, script("hello"), "settings.instance.secrets"},
		{"a bootstrap token", userData, "bootstrap-token-abcdef", false, bootstrap, "is a bootstrap token"},
		{"a bootstrap token under another name", userData, "renamed", false, renamed, "bootstrap.kubernetes.io/token"},
		{"a service account's token", userData, "account", false, account, "kubernetes.io/service-account-token"},
		{"the operator's own token", userData, "data", false, script(linodesim.DefaultToken), "the operator's own API token"},
		{"a listed token", token, "data", false, secret("data", agentToken), ""},
		{"a token that is not listed", token, "data", true, secret("data", agentToken), "settings.instance.secrets"},
		{"a bootstrap token as token", token, "bootstrap-token-abcdef", false, bootstrap, "is a bootstrap token"},
		{"a renamed bootstrap token as token", token, "renamed", false, renamed, "bootstrap.kubernetes.io/token"},
		{"a service account's token as token", token, "account", false, account, "kubernetes.io/service-account-token"},
		{"the operator's own token as token", token, "data", false, secret("data", linodesim.DefaultToken), "the operator's own API token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, known, func(c *instance.Config) {
				if test.unlisted {
					c.Secrets.Listed = []types.NamespacedName{{Namespace: "default", Name: test.secret}}
				}
			}, test.stored)
			named := &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref(test.secret)}
			if test.field == token {
				named = &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref(test.secret)}
			}
			class := classWith(v1alpha1.LinodeNodeClassSpec{Bootstrap: named})
			found := w.backend.Check(t.Context(), class)
			_, err := w.backend.Claim(t.Context(), launch(class))
			if test.want == "" {
				if found.Reason != "" || err != nil {
					t.Errorf("it is not read: %+v, %v", found, err)
				}
				return
			}
			if found.Status != metav1.ConditionFalse || found.Reason != v1alpha1.ReasonForbidden || !strings.Contains(found.Message, test.want) ||
				!strings.Contains(found.Message, test.field) || !strings.Contains(found.Message, test.secret) {
				t.Errorf("found %+v", found)
			}
			if claims.KindOf(err) != claims.KindInvalid || len(w.engine.specs) > 0 {
				t.Errorf("a launch: %v, %d Linodes", err, len(w.engine.specs))
			}
			if strings.Contains(found.Message, linodesim.DefaultToken) {
				t.Errorf("the message has the token in it: %s", found.Message)
			}
		})
	}
}

// A class that names an object that is not allowed gets no Linode, also if it was checked before it changed.
func TestClassOutsideOfTheAllowListGetsNoLinode(t *testing.T) {
	w := newWorld(t, known, func(c *instance.Config) {
		c.Allowed = allowlist.List{Images: []string{"private/1"}, AuthorizedUsers: []string{"alice"}}
	})
	class := classWith(v1alpha1.LinodeNodeClassSpec{Image: "private/2"})
	class.Status.Images = nil
	found := w.backend.Check(t.Context(), class)
	if found.Status != metav1.ConditionFalse || found.Reason != v1alpha1.ReasonNotAllowed || !strings.Contains(found.Message, "spec.image") {
		t.Errorf("found %+v", found)
	}
	if _, err := w.backend.Claim(t.Context(), launch(class)); claims.KindOf(err) != claims.KindInvalid || len(w.engine.specs) > 0 {
		t.Errorf("a launch: %v, %d Linodes", err, len(w.engine.specs))
	}
}

// Where the operator makes no bootstrap tokens, kubeadm is refused and the others join.
func TestClassesThatNeedABootstrapTokenAreRefusedWithout(t *testing.T) {
	w := newWorld(t, known, func(c *instance.Config) { c.Tokens = nil }, secret("agent", agentToken))
	found := w.backend.Check(t.Context(), classWith(v1alpha1.LinodeNodeClassSpec{Image: "private/1"}))
	if found.Status != metav1.ConditionFalse || !strings.Contains(found.Message, "settings.instance.bootstrapTokens") {
		t.Errorf("kubeadm: %+v", found)
	}
	k3s := &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("agent")}
	if found := w.backend.Check(t.Context(), classWith(v1alpha1.LinodeNodeClassSpec{Bootstrap: k3s})); found.Reason != "" {
		t.Errorf("k3s: %+v", found)
	}
}
