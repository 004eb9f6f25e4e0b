package status_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	opstatus "github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// An outage of the API must not change a class that was Ready, and a first read that fails must not make a class Ready.
func TestAPIOutage(t *testing.T) {
	spec := v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1), PlacementGroup: &v1alpha1.PlacementGroup{ID: 1}}
	outage := errors.New("503 from the API")

	fresh := classOf(spec)
	result := status.Evaluate(context.Background(), fresh, instance, &account{err: outage})
	for _, conditionType := range []string{v1alpha1.ConditionFirewallReady, v1alpha1.ConditionImageReady,
		v1alpha1.ConditionPlacementGroupReady} {
		if got := find(t, result.Conditions, conditionType); got.Status != metav1.ConditionUnknown || got.Reason != v1alpha1.ReasonCheckFailed {
			t.Errorf("at first sight %s is %s, %s", conditionType, got.Status, got.Reason)
		}
	}
	if result.Ready() || !errors.Is(result.Err, outage) {
		t.Errorf("at first sight: Ready %t, error %v", result.Ready(), result.Err)
	}

	known := classOf(spec)
	status.Apply(known, status.Evaluate(context.Background(), known, instance, anAccount()))
	result = status.Evaluate(context.Background(), known, instance, &account{err: outage})
	if !result.Ready() || !errors.Is(result.Err, outage) || result.Firewall == nil || len(result.Images) != 1 {
		t.Errorf("of a known class: Ready %t, error %v, %+v", result.Ready(), result.Err, result)
	}
	if status.Apply(known, result) {
		t.Error("an outage changed the status")
	}

	retagged := known.DeepCopy()
	retagged.Generation, retagged.Spec.Tags, retagged.Spec.PlacementGroup = 2, []string{"team=a"}, nil
	if result = status.Evaluate(context.Background(), retagged, instance, &account{err: outage}); !result.Ready() || result.Firewall == nil {
		t.Errorf("a change of another field took the answers away: %+v", result)
	}

	missing := classOf(v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(9)})
	status.Apply(missing, status.Evaluate(context.Background(), missing, enterprise, anAccount()))
	result = status.Evaluate(context.Background(), missing, enterprise, &account{err: outage})
	if got := find(t, result.Conditions, v1alpha1.ConditionFirewallReady); got.Reason != v1alpha1.ReasonFirewallNotFound ||
		status.Apply(missing, result) {
		t.Errorf("what was known to be missing is %v during an outage", got)
	}

	changed := known.DeepCopy()
	changed.Generation, changed.Spec.FirewallID = 2, ptr(3)
	result = status.Evaluate(context.Background(), changed, instance, &account{err: outage})
	if got := find(t, result.Conditions, v1alpha1.ConditionFirewallReady); got.Status != metav1.ConditionUnknown {
		t.Errorf("the answer for another firewall was kept: %v", got)
	}
}

// If the version cannot be read, the known version stays. Otherwise nodes would be made in another pool, and compared with another pool.
func TestVersionNotKnown(t *testing.T) {
	unknown := enterprise
	unknown.ControlPlaneVersion = ""
	for _, test := range []struct {
		name, pin, then string
		ready           bool
	}{
		{"unpinned", "", "", true},
		{"pinned", "v1.33.6+lke7", "v1.33.6+lke7", true},
		{"pinned to another since", "", "v1.34.1+lke1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := classOf(v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: test.pin})
			status.Apply(class, status.Evaluate(context.Background(), class, enterprise, anAccount()))
			class.Spec.LKEK8sVersion = test.then
			result := status.Evaluate(context.Background(), class, unknown, anAccount())
			if result.Ready() != test.ready || (result.KubernetesVersion == "v1.33.6+lke7") != test.ready {
				t.Errorf("ready %t with version %q, expected %t", result.Ready(), result.KubernetesVersion, test.ready)
			}
		})
	}
}

// After an upgrade of the control plane, a class without a version follows it, and a class with a version reports the remedy.
func TestUpgradeOfTheControlPlane(t *testing.T) {
	upgraded := enterprise
	upgraded.ControlPlaneVersion = "v1.34.1+lke1"
	for pin, ready := range map[string]bool{"": true, "v1.33.6+lke7": false} {
		class := classOf(v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: pin})
		status.Apply(class, status.Evaluate(context.Background(), class, enterprise, anAccount()))
		if !class.StatusConditions().Get(opstatus.ConditionReady).IsTrue() {
			t.Fatalf("pinned to %q: not ready before the upgrade", pin)
		}
		status.Apply(class, status.Evaluate(context.Background(), class, upgraded, anAccount()))
		version := class.StatusConditions().Get(v1alpha1.ConditionKubernetesVersionReady)
		if version.IsTrue() != ready || (class.Status.KubernetesVersion == "v1.34.1+lke1") != ready {
			t.Errorf("pinned to %q: %v, version %q", pin, version, class.Status.KubernetesVersion)
		}
		if !ready && (version.Reason != v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch || !strings.Contains(version.Message, "v1.34.1+lke1")) {
			t.Errorf("pinned to %q: %v", pin, version)
		}
	}
}

func TestApplyWaiting(t *testing.T) {
	class := classOf(v1alpha1.LinodeNodeClassSpec{})
	status.Apply(class, status.Evaluate(context.Background(), class, standard, anAccount()))
	says := func() string { return class.StatusConditions().Get(opstatus.ConditionReady).Message }
	if !status.ApplyWaiting(class, []string{"b", "a"}) || !strings.Contains(says(), "NodeClaims a, b; ") ||
		!strings.Contains(says(), "kubectl delete nodeclaims -l karpenter.k8s.linode/linodenodeclass=default. ") ||
		!strings.Contains(says(), "under another name") {
		t.Errorf("Ready says %q", says())
	}
	if status.ApplyWaiting(class, []string{"a", "b"}) {
		t.Error("the same NodeClaims changed the status")
	}
	if !status.ApplyWaiting(class, []string{"b"}) {
		t.Error("a NodeClaim has gone and the status did not change")
	}
	status.ApplyWaiting(class, []string{"a", "b", "c", "d", "e", "f", "g"})
	if !strings.Contains(says(), "a, b, c, d, e and others; ") {
		t.Errorf("Ready says %q", says())
	}
	if status.ApplyWaiting(class, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Error("a NodeClaim that was not named changed the status")
	}
}

func TestForbidden(t *testing.T) {
	spec := v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}
	known := classOf(spec)
	status.Apply(known, status.Evaluate(context.Background(), known, enterprise, anAccount()))
	for name, class := range map[string]*v1alpha1.LinodeNodeClass{"first": classOf(spec), "known": known} {
		result := status.Evaluate(context.Background(), class, enterprise, &account{err: fmt.Errorf("403: %w", status.ErrForbidden)})
		got := find(t, result.Conditions, v1alpha1.ConditionFirewallReady)
		if got.Status != metav1.ConditionFalse || got.Reason != v1alpha1.ReasonForbidden || !strings.Contains(got.Message, "firewall:read_only") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestApply(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	with := opstatus.WithClock(clock)
	apply := func(class *v1alpha1.LinodeNodeClass, cluster status.Cluster) bool {
		clock.Step(time.Minute)
		return status.Apply(class, status.Evaluate(context.Background(), class, cluster, anAccount()), with)
	}

	class := classOf(v1alpha1.LinodeNodeClassSpec{Tags: []string{"lke1"}})
	if !apply(class, standard) {
		t.Error("the first result changed nothing")
	}
	ready := class.StatusConditions().Get(opstatus.ConditionReady)
	if !ready.IsFalse() || ready.Reason != v1alpha1.ReasonTagValidationFailed || !strings.Contains(ready.Message, `"lke1"`) {
		t.Errorf("Ready is %v", ready)
	}
	before := class.DeepCopy()
	if apply(class, standard) {
		t.Errorf("the same result changed the status:\n%v\n%v", before.Status, class.Status)
	}

	class.Generation, class.Spec.Tags = 2, []string{"team=a"}
	if !apply(class, standard) {
		t.Error("a corrected class did not change")
	}
	ready = class.StatusConditions().Get(opstatus.ConditionReady)
	if !ready.IsTrue() || ready.ObservedGeneration != 2 || ready.LastTransitionTime.Time != clock.Now() {
		t.Errorf("Ready of the corrected class is %v at %v", ready, clock.Now())
	}
	if class.Status.KubernetesVersion != "1.35" {
		t.Errorf("version %q", class.Status.KubernetesVersion)
	}

	since := ready.LastTransitionTime
	class.Generation, class.Spec.Tags = 3, []string{"team=b"}
	apply(class, standard)
	if ready = class.StatusConditions().Get(opstatus.ConditionReady); ready.LastTransitionTime != since || ready.ObservedGeneration != 3 {
		t.Errorf("a class that stayed ready since %v says %v", since, ready)
	}

	apply(class, instance)
	if class.StatusConditions().Get(v1alpha1.ConditionImageReady) == nil || len(class.Status.Images) != 1 {
		t.Errorf("in instance mode: %v", class.Status)
	}
	apply(class, standard)
	if class.StatusConditions().Get(v1alpha1.ConditionImageReady) != nil || class.Status.Images != nil ||
		!class.StatusConditions().Get(opstatus.ConditionReady).IsTrue() {
		t.Errorf("back in lke mode: %v", class.Status)
	}
}

// The API server accepts every reason that can occur.
func TestReasonsAreValid(t *testing.T) {
	for _, result := range []status.Result{
		status.Evaluate(context.Background(), classOf(v1alpha1.LinodeNodeClassSpec{}), standard, nil),
		status.Evaluate(context.Background(), classOf(v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}), instance, nil),
		status.Evaluate(context.Background(), classOf(v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}), instance,
			&account{err: status.ErrForbidden}),
	} {
		for _, c := range result.Conditions {
			if c.Reason == "" {
				t.Errorf("%s has no reason", c.Type)
			}
		}
	}
}
