package nodeclass_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	operatorstatus "github.com/awslabs/operatorpkg/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

func readyWith(reason string) func(*v1alpha1.LinodeNodeClass) bool {
	return func(class *v1alpha1.LinodeNodeClass) bool {
		ready := class.StatusConditions().Get(operatorstatus.ConditionReady)
		return ready.Reason == reason && ready.ObservedGeneration == class.Generation
	}
}

// expectSilence reconciles a few times from the present state and expects no event.
func (p process) expectSilence(t *testing.T, class *v1alpha1.LinodeNodeClass) {
	t.Helper()
	inCache(t, class)
	for range 3 {
		if _, err := p.reconcile(t.Context(), class.Name); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.recorder.said) > 0 {
		t.Errorf("it said again: %q", p.recorder.said)
	}
}

// A message of a class is an event once: not at every reconcile, and not after a restart of the operator.
func TestOneEventPerChange(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "events"}}
	class.Spec.Image = "linode/debian12" // without effect in lke mode
	class.Spec.LKEK8sVersion = "v1.32.9+lke4"
	create(t, class)
	inCache(t, class)

	first := start(cached, nodeclass.Config{})
	class = first.until(t, class.Name, "the mismatch is found", readyWith(v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch))
	if said := first.recorder.said; len(said) != 1 || !strings.HasPrefix(said[0], "Warning LKEK8sVersionControlPlaneMismatch: ") ||
		!strings.Contains(said[0], "v1.33.6+lke7") {
		t.Errorf("it said %q", said)
	}
	start(cached, nodeclass.Config{}).expectSilence(t, class)

	class.Spec.LKEK8sVersion = ""
	if err := kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	second := start(cached, nodeclass.Config{})
	class = second.until(t, class.Name, "it is ready", readyWith("Ready"))
	if said := second.recorder.said; len(said) != 2 || !strings.HasPrefix(said[0], "Normal Ready: ") ||
		!strings.HasPrefix(said[1], "Warning FieldsWithoutEffect: ") || !strings.Contains(said[1], "image") {
		t.Errorf("it said %q", said)
	}
	start(cached, nodeclass.Config{}).expectSilence(t, class)
}

// A control plane is upgraded while a class is pinned: the class has one event. A class without a pinned version follows without an
// event.
func TestUpgradeOfTheControlPlane(t *testing.T) {
	upgraded := nodeclass.Config{Cluster: func(context.Context) status.Cluster {
		cluster := enterprise
		cluster.ControlPlaneVersion = "v1.34.1+lke1"
		return cluster
	}}
	for name, pin := range map[string]string{"upgrade-unpinned": "", "upgrade-pinned": "v1.33.6+lke7"} {
		class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: pin}}
		create(t, class)
		inCache(t, class)
		class = start(cached, nodeclass.Config{}).until(t, name, "it is ready", readyWith("Ready"))
		inCache(t, class)
		hash := class.Annotations[v1alpha1.AnnotationHash]
		p := start(cached, upgraded)
		if pin == "" {
			class = p.until(t, name, "it follows", func(c *v1alpha1.LinodeNodeClass) bool { return c.Status.KubernetesVersion == "v1.34.1+lke1" })
			if len(p.recorder.said) != 0 || !readyWith("Ready")(class) {
				t.Errorf("unpinned: %q, %v", p.recorder.said, class.Status)
			}
		} else {
			class = p.until(t, name, "it says so", readyWith(v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch))
			if len(p.recorder.said) != 1 || !class.StatusConditions().Get(v1alpha1.ConditionKubernetesVersionReady).IsFalse() {
				t.Errorf("pinned: %q, %v", p.recorder.said, class.Status)
			}
		}
		if class.Annotations[v1alpha1.AnnotationHash] != hash {
			t.Error("the hash changed")
		}
	}
}

// A deleted class in use waits. It names its NodeClaims in one event for each change of their list, with and without restarts, and then
// goes.
func TestTermination(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "terminating"}}
	users := []*karpv1.NodeClaim{claimOf(class.Name, "terminating-a", nil), claimOf(class.Name, "terminating-b", nil)}
	create(t, class, users[0], users[1], claimOf("another", "terminating-c", nil))
	inCache(t, class, users[0], users[1])
	first := start(cached, nodeclass.Config{})
	first.until(t, class.Name, "it is ready", readyWith("Ready"))
	if err := kube.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	says := func(text string) func(*v1alpha1.LinodeNodeClass) bool {
		return func(c *v1alpha1.LinodeNodeClass) bool {
			ready := c.StatusConditions().Get(operatorstatus.ConditionReady)
			return ready.Reason == v1alpha1.ReasonWaitingOnNodeClaimTermination && strings.Contains(ready.Message, text+"; ")
		}
	}
	waiting := first.until(t, class.Name, "it waits", says("NodeClaims terminating-a, terminating-b"))
	inCache(t, waiting)
	start(cached, nodeclass.Config{}).expectSilence(t, waiting)

	if err := kube.Delete(t.Context(), users[0]); err != nil {
		t.Fatal(err)
	}
	waiting = first.until(t, class.Name, "one has gone", says("NodeClaims terminating-b"))
	const begin = "Warning WaitingOnNodeClaimTermination: Waiting for the termination of NodeClaims "
	if want := []string{begin + "terminating-a, terminating-b; ", begin + "terminating-b; "}; len(first.recorder.said) != 3 ||
		!strings.HasPrefix(first.recorder.said[1], want[0]) || !strings.HasPrefix(first.recorder.said[2], want[1]) {
		t.Errorf("it said %q", first.recorder.said)
	}
	inCache(t, waiting)
	start(cached, nodeclass.Config{}).expectSilence(t, waiting)

	if err := kube.Delete(t.Context(), users[1]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the class has gone", func() bool {
		_, _ = first.reconcile(t.Context(), class.Name)
		return apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(class), class))
	})
}

// A NodeClaim that the cache does not know yet keeps its class all the same.
func TestTerminationAsksTheAPIServer(t *testing.T) {
	blind, err := newCached(t.Context(), cache.Options{Scheme: scheme.Scheme, ByObject: map[client.Object]cache.ByObject{
		&karpv1.NodeClaim{}: {Label: labels.SelectorFromSet(labels.Set{"known-to": "the-cache"})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "unseen", Finalizers: []string{v1alpha1.Finalizer}}}
	user := claimOf(class.Name, "unseen-user", nil)
	create(t, class, user)
	if err := kube.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	p := start(blind, nodeclass.Config{Reader: kube})
	p.until(t, class.Name, "it waits", func(c *v1alpha1.LinodeNodeClass) bool {
		return slices.Contains(c.Finalizers, v1alpha1.Finalizer) &&
			strings.Contains(c.StatusConditions().Get(operatorstatus.ConditionReady).Message, user.Name)
	})
	if err := kube.Delete(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the class has gone", func() bool {
		_, _ = p.reconcile(t.Context(), class.Name)
		return apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(class), class))
	})
}

// A class that is not ready is looked at again soon at first, and later as seldom as the others.
func TestPause(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "pause"},
		Spec: v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "v1.1.1"}}
	create(t, class)
	inCache(t, class)
	p := start(cached, nodeclass.Config{Interval: time.Hour})
	class = p.until(t, class.Name, "it is not ready", readyWith(v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch))
	for _, test := range []struct {
		since     time.Duration
		low, high time.Duration
	}{{time.Second, 30 * time.Second, 40 * time.Second}, {10 * time.Minute, 10 * time.Minute, 20 * time.Minute},
		{3 * time.Hour, time.Hour, time.Hour}} {
		class.Status.Conditions = slices.Clone(class.Status.Conditions)
		for i := range class.Status.Conditions {
			class.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-test.since))
		}
		if err := kube.Status().Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		inCache(t, class)
		pause, err := p.reconcile(t.Context(), class.Name)
		if err != nil || pause < test.low || pause > test.high {
			t.Errorf("not ready for %s: looked at again after %s, %v", test.since, pause, err)
		}
	}
	class.Spec.LKEK8sVersion = ""
	if err := kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	class = p.until(t, class.Name, "it is ready", readyWith("Ready"))
	inCache(t, class)
	if pause, err := p.reconcile(t.Context(), class.Name); err != nil || pause != time.Hour {
		t.Errorf("ready: looked at again after %s, %v", pause, err)
	}
}
