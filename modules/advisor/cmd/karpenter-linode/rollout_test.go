package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// rolling returns a cluster with an outdated node, and a function that replaces the node.
func rolling(t *testing.T) (kube client.Client, replace func()) {
	t.Helper()
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Name: "default"}
	pool.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: pool.Hash()}
	old := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-a", Labels: map[string]string{karpv1.NodePoolLabelKey: "default"}}}
	old.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "NodePoolDrifted"}}
	kube = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, old).Build()
	return kube, func() {
		if err := kube.Delete(t.Context(), old); err != nil {
			t.Error(err)
		}
	}
}

func TestRolloutStatusWaitsUntilNoNodeIsOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, replace := rolling(t)
		go func() {
			time.Sleep(time.Minute)
			replace()
		}()
		var out bytes.Buffer
		began := time.Now()
		if _, err := rolloutStatus(t.Context(), kube, "default", true, 2*time.Second, &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "default-a (NodePoolDrifted)") || !strings.HasPrefix(lines[1], "All nodes are") {
			t.Errorf("it printed\n%s", out.String())
		}
		if text := out.String(); strings.Contains(text, "\n\n") {
			t.Errorf("an empty line in %q", text)
		}
		if waited := time.Since(began); waited < time.Minute || waited > 63*time.Second {
			t.Errorf("it ended after %v", waited)
		}
	})
}

func TestRolloutStatusFailsWhileNodesAreOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, _ := rolling(t)
		var out bytes.Buffer
		_, err := rolloutStatus(t.Context(), kube, "default", false, time.Second, &out)
		if err == nil || !strings.Contains(err.Error(), "is not done") {
			t.Errorf("without waiting: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = rolloutStatus(ctx, kube, "default", true, time.Second, &out)
		if err == nil || !strings.Contains(err.Error(), "the last state: 0 nodes are up to date") {
			t.Errorf("after the timeout: %v", err)
		}
		_, err = rolloutStatus(t.Context(), kube, "defalt", true, time.Second, &out)
		if err == nil || !strings.Contains(err.Error(), "there is no NodePool defalt: kubectl get nodepools") {
			t.Errorf("a NodePool that is not there: %v", err)
		}
	})
}
