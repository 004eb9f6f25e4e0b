package instance_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A class that cannot work is refused. The message has the field and the cure, and no text of a Secret and no token.
func TestCheckNamesFieldAndCure(t *testing.T) {
	unknown := joined{Version: "v1.35.2"}
	big := "#!/bin/sh\n# ${KARPENTER_KUBELET_ARGS}\n: '" + noise(60_000) + "'\n"
	quantity := func(text string) *v1alpha1.Disk { return &v1alpha1.Disk{Size: resourceOf(text)} }
	for _, test := range []struct {
		name    string
		cluster joined
		spec    v1alpha1.LinodeNodeClassSpec
		reason  string
		status  metav1.ConditionStatus
		words   []string
	}{
		{"no cluster-info", unknown, v1alpha1.LinodeNodeClassSpec{}, v1alpha1.ReasonEndpointUnknown, "False",
			[]string{"spec.bootstrap.apiServerEndpoint", "settings.clusterEndpoint"}},
		{"no CA", joined{Endpoint: "10.0.0.2:6443"}, v1alpha1.LinodeNodeClassSpec{}, v1alpha1.ReasonCAUnknown, "False",
			[]string{"spec.bootstrap.caCertHashes", "settings.clusterCABundle"}},
		{"Secret that is not there", known,
			v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("missing")}},
			v1alpha1.ReasonSecretNotFound, "False", []string{"spec.bootstrap.tokenSecretRef", "kube-system/missing"}},
		{"Secret without the key", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s,
			TokenSecretRef: &v1alpha1.SecretKeyReference{Namespace: "kube-system", Name: "short", Key: "other"}}}, v1alpha1.ReasonSecretNotFound,
			"False", []string{`"other"`}},
		{"token that no agent takes", known,
			v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("short")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"token", "K10<hash of the CA>"}},
		{"user data over the limit", known,
			v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("big")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"spec.bootstrap", "16384"}},
		{"user data with an unknown variable", known,
			v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("typo")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"KARPENTER_NAME"}},
		{"user data that leaves out the contract", known,
			v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("bare")}},
			v1alpha1.ReasonContractIncomplete, "True", []string{"KARPENTER_KUBELET_ARGS"}},
		{"the default image without an install step", known, v1alpha1.LinodeNodeClassSpec{}, v1alpha1.ReasonImageUnsuitable, "False",
			[]string{"spec.image", "linode/ubuntu22.04", "kubeadm", "spec.bootstrap.preJoinCommands"}},
		{"a public image with an install step", known, v1alpha1.LinodeNodeClassSpec{
			Bootstrap: &v1alpha1.Bootstrap{PreJoinCommands: []string{"apt-get install --yes kubeadm"}}}, "", "", nil},
		{"an image of the account", known, v1alpha1.LinodeNodeClassSpec{Image: "private/1"}, "", "", nil},
		{"a selector that found a public image", known, v1alpha1.LinodeNodeClassSpec{ImageSelector: &v1alpha1.ImageSelector{Label: "k-*"}},
			v1alpha1.ReasonImageUnsuitable, "False", nil},
		{"k3s without its installer on a public image", known, v1alpha1.LinodeNodeClassSpec{
			Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("agent"), InstallerURL: "none"}},
			v1alpha1.ReasonImageUnsuitable, "False", []string{"k3s"}},
		{"k3s with its installer on a public image", known, v1alpha1.LinodeNodeClassSpec{
			Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("agent")}}, "", "", nil},
		{"boot disk that is too small", known, v1alpha1.LinodeNodeClassSpec{Image: "private/1", OSDisk: quantity("1Gi")},
			v1alpha1.ReasonBootstrapInvalid, "False",
			[]string{"spec.osDisk"}},
		{"data disk without a boot disk", known,
			v1alpha1.LinodeNodeClassSpec{Image: "private/1", DataDisks: &v1alpha1.DataDisks{SDB: quantity("1Gi")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"spec.osDisk"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.cluster, nil, secret("short", "s3cr3t"), secret("agent", agentToken), secret("big", big),
				secret("typo", "#!/bin/sh\n${KARPENTER_NAME}\n"),
				secret("bare", "#!/bin/sh\ntrue\n"))
			found := w.backend.Check(t.Context(), classWith(test.spec))
			if found.Reason != test.reason || found.Status != test.status {
				t.Errorf("found %+v, expected %s with %s", found, test.status, test.reason)
			}
			for _, word := range test.words {
				if !strings.Contains(found.Message, word) {
					t.Errorf("the message %q lacks %q", found.Message, word)
				}
			}
			if strings.Contains(found.Message, "s3cr3t") {
				t.Errorf("the message has a secret in it: %s", found.Message)
			}
		})
	}
}
