package karpentercore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

func TestAHeldPodIsNotEvicted(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		held bool
		err  error
		gone bool
	}{
		"held": {held: true}, "an error": {err: broken}, "let go": {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pod).Build()
			evicting := karpentercore.Evicting(kube, func(context.Context, *corev1.Pod) (bool, error) { return tt.held, tt.err })
			err := evicting.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{})
			switch {
			case tt.held && !apierrors.IsConflict(err), tt.err != nil && !errors.Is(err, tt.err), tt.gone && err != nil:
				t.Errorf("error %v", err)
			}
			if gone := apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)); gone != tt.gone {
				t.Errorf("evicted: %v", gone)
			}
		})
	}
}

// A held pod is tried again, because the termination controller queues each pod that is still there.
func TestCoreStillQueuesAPodAgain(t *testing.T) {
	for file, lines := range map[string][]string{
		"node/termination/terminator/eviction.go": {
			"if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {", `SubResource("eviction").Create(ctx,`},
		"node/termination/terminator/terminator.go": {"podutil.IsWaitingEviction(p, t.clock)", "t.evictionQueue.Add("},
	} {
		source, err := os.ReadFile(coreFile(t, "pkg/controllers/"+file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(source), line) {
				t.Errorf("%s of core has changed: %q is gone; see Evicting", file, line)
			}
		}
	}
}
