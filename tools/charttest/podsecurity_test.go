package charttest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A namespace that enforces the Pod Security Standard "restricted" takes the controller's pods: non-root, no
// capabilities, no escalation, the runtime's seccomp profile, no host access.
func TestPodsAreRestricted(t *testing.T) {
	needServer(t)
	ctx := context.Background()
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted",
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if err := api.Create(ctx, restricted); err != nil {
		t.Fatal(err)
	}
	pod := func(values string) *corev1.Pod {
		template := deployment(t, values).Spec.Template
		template.Spec.ServiceAccountName = "" // the account is not there
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "restricted", Name: "controller", Labels: template.Labels},
			Spec: template.Spec}
	}
	for name, values := range map[string]string{
		"quickstart":            ``,
		"token by file":         `{apiToken: "", credentialsSecretRef: mine, credentialsSecretMount: true}`,
		"no context of the pod": `podSecurityContext: {fsGroup: null, runAsNonRoot: null, seccompProfile: null}`,
	} {
		if err := api.Create(ctx, pod(values), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := api.Create(ctx, pod(`hostNetwork: true`), client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("the host's network is not refused, so this showed nothing: %v", err)
	}
}
