package instance_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Further fields of a kubelet's configuration are compared with the kubelet's own types, and the condition names the error.
func TestFurtherKubeletFieldsAreComparedWithTheKubeletsTypes(t *testing.T) {
	for name, tt := range map[string]struct{ field, value, want string }{
		"a number":                       {"maxParallelImagePulls", "5", ""},
		"a text, a list and an object":   {"memorySwap", `{"swapBehavior": "LimitedSwap"}`, ""},
		"a duration":                     {"shutdownGracePeriod", `"30s"`, ""},
		"an amount of bytes":             {"containerLogMaxSize", `"10Mi"`, ""},
		"no such field":                  {"maxParalelImagePulls", "5", "a KubeletConfiguration has no such field; correct"},
		"another case":                   {"maxparallelimagepulls", "5", "no such field, but maxParallelImagePulls"},
		"another type":                   {"maxParallelImagePulls", `"five"`, `it is "five", and maxParallelImagePulls takes an integer`},
		"a list for a text":              {"clusterDomain", "[1]", "it is [1], and clusterDomain takes a text"},
		"no duration":                    {"shutdownGracePeriod", `"soon"`, `it is "soon": `},
		"an unknown field of an object":  {"memorySwap", `{"behavior": "x"}`, `unknown field "memorySwap.behavior"`},
		"a field of the class's own":     {"maxPods", "5", "use spec.kubelet.maxPods"},
		"a field that the operator sets": {"registerWithTaints", "[]", "it cannot be set here: the taints come from the NodePool"},
		"a field of the allocatable":     {"reservedSystemCPUs", `"0"`, "computed from systemReserved"},
		"the kind":                       {"kind", `"x"`, "it cannot be set here"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, known, nil)
			class := classWith(v1alpha1.LinodeNodeClassSpec{
				Bootstrap: &v1alpha1.Bootstrap{PreJoinCommands: []string{"apt-get install --yes kubeadm"}}, Kubelet: &v1alpha1.KubeletConfiguration{
					ExtraConfig: map[string]apiextensionsv1.JSON{tt.field: {Raw: []byte(tt.value)}}}})
			found := w.backend.Check(t.Context(), class)
			if tt.want == "" {
				if found.Status == metav1.ConditionFalse {
					t.Errorf("%+v", found)
				}
				if _, err := w.backend.Claim(t.Context(), launch(class)); err != nil || !strings.Contains(
					string(w.engine.specs[0].UserData.Content), tt.field) {
					t.Errorf("%v: the user data lacks the field", err)
				}
				return
			}
			if found.Status != metav1.ConditionFalse || found.Reason != v1alpha1.ReasonBootstrapInvalid ||
				!strings.HasPrefix(found.Message, "spec.kubelet.extraConfig."+tt.field+": ") || !strings.Contains(found.Message, tt.want) {
				t.Errorf("%+v, want %q", found, tt.want)
			}
			if _, err := w.backend.Claim(t.Context(), launch(class)); claims.KindOf(err) != claims.KindInvalid || len(w.tokens.issued) != 0 {
				t.Errorf("the launch gives %v, tokens %v", err, w.tokens.issued)
			}
		})
	}
}

// The user data of custom nodes is the user's own, and old agents of k3s do not take a configuration file.
func TestFurtherKubeletFieldsAreRefusedWhereTheyWouldBeLost(t *testing.T) {
	w := newWorld(t, known, nil, secret("agent", agentToken), secret("text", "#!/bin/sh\nkubelet ${KARPENTER_KUBELET_ARGS}\n"))
	extra := &v1alpha1.KubeletConfiguration{ExtraConfig: map[string]apiextensionsv1.JSON{"maxParallelImagePulls": {Raw: []byte("5")}}}
	custom := classWith(v1alpha1.LinodeNodeClassSpec{Kubelet: extra,
		Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("text")}})
	old := classWith(v1alpha1.LinodeNodeClassSpec{Kubelet: extra,
		Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("agent")}})
	old.Status.KubernetesVersion = "v1.31.4+k3s1"
	for class, want := range map[*v1alpha1.LinodeNodeClass]string{custom: "write them into the user data", old: "v1.32 or newer"} {
		if found := w.backend.Check(t.Context(), class); found.Status != metav1.ConditionFalse ||
			!strings.HasPrefix(found.Message, "spec.kubelet.extraConfig: ") || !strings.Contains(found.Message, want) {
			t.Errorf("%+v, want %q", found, want)
		}
	}
}
