package v1alpha1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestReadyFollowsTheConditionsOfTheMode(t *testing.T) {
	for _, test := range []struct {
		name  string
		mode  v1alpha1.Mode
		leave string // the condition that is not set
		ready bool
	}{
		{"lke, all true", v1alpha1.ModeLKE, "", true},
		{"lke, firewall not known", v1alpha1.ModeLKE, v1alpha1.ConditionFirewallReady, false},
		{"lke, validation not known", v1alpha1.ModeLKE, v1alpha1.ConditionValidationSucceeded, false},
		{"instance, all true", v1alpha1.ModeInstance, "", true},
		{"instance, image not known", v1alpha1.ModeInstance, v1alpha1.ConditionImageReady, false},
		{"instance, placement group not known", v1alpha1.ModeInstance, v1alpha1.ConditionPlacementGroupReady, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := &v1alpha1.LinodeNodeClass{}
			conditions := class.StatusConditionsFor(test.mode)
			for _, conditionType := range v1alpha1.ConditionTypes(test.mode) {
				if conditionType != test.leave {
					conditions.SetTrue(conditionType)
				}
			}
			if got := class.StatusConditions().Get(status.ConditionReady).IsTrue(); got != test.ready {
				t.Errorf("Ready is %t, expected %t: %v", got, test.ready, class.Status.Conditions)
			}
		})
	}
}

func TestConditionsOfANewClass(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{}
	if !class.StatusConditions().Get(status.ConditionReady).IsUnknown() {
		t.Error("Ready of a class that was not reconciled is not Unknown")
	}
	if slices.ContainsFunc(class.Status.Conditions, func(c status.Condition) bool { return c.Type == v1alpha1.ConditionImageReady }) {
		t.Error("a class has conditions of instance mode without being in that mode")
	}
}

func TestRegistration(t *testing.T) {
	for _, object := range []string{"LinodeNodeClass", "LinodeNodeClassList"} {
		if !scheme.Scheme.Recognizes(v1alpha1.SchemeGroupVersion.WithKind(object)) {
			t.Errorf("%s is not in the scheme", object)
		}
	}
	for _, label := range v1alpha1.InstanceLabels() {
		if err := karpv1.IsRestrictedLabel(label); err != nil {
			t.Errorf("%s: %v", label, err)
		}
	}
	if karpv1.IsRestrictedLabel(v1alpha1.Group+"/instance-famly") == nil {
		t.Error("a misspelt label of the provider is not refused")
	}
	for _, label := range []string{"linode.com/x", "lke.linode.com/pool-id", "topology.linode.com/region"} {
		if karpv1.IsRestrictedLabel(label) == nil {
			t.Errorf("%s is not refused", label)
		}
	}
	if !karpv1.WellKnownResources.Has(v1alpha1.ResourceNvidiaGPU) || !karpv1.WellKnownLabels.Has(corev1.LabelTopologyRegion) {
		t.Error("well known names are missing")
	}
	if key := karpv1.NodeClassLabelKey(v1alpha1.GroupKind); key != v1alpha1.LabelNodeClass {
		t.Errorf("Karpenter's core labels nodes with %s, expected %s", key, v1alpha1.LabelNodeClass)
	}
}

func TestNodePoolsMayNotSetLabelsOfLinode(t *testing.T) {
	pool := func(change func(*karpv1.NodeClaimTemplate)) error {
		nodePool := &karpv1.NodePool{}
		change(&nodePool.Spec.Template)
		return nodePool.RuntimeValidate(t.Context())
	}
	requires := func(key, value string) func(*karpv1.NodeClaimTemplate) {
		return func(template *karpv1.NodeClaimTemplate) {
			template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: key, Operator: corev1.NodeSelectorOpIn,
				Values: []string{value}}}
		}
	}
	labels := func(key, value string) func(*karpv1.NodeClaimTemplate) {
		return func(template *karpv1.NodeClaimTemplate) { template.Labels = map[string]string{key: value} }
	}
	for name, refused := range map[string]func(*karpv1.NodeClaimTemplate){
		"the pool's ID as a label":       labels("lke.linode.com/pool-id", "5"),
		"the pool's ID as a requirement": requires("lke.linode.com/pool-id", "5"),
		"linode.com itself":              labels("linode.com/x", "y"),
	} {
		if err := pool(refused); err == nil || !strings.Contains(err.Error(), "linode.com") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, accepted := range map[string]func(*karpv1.NodeClaimTemplate){
		"the driver's name of the region": requires(v1alpha1.LabelVolumeRegion, "us-ord"),
		"a label of this provider":        requires(v1alpha1.LabelInstanceClass, "standard"),
		"a user's label":                  labels("example.com/linode.com", "y"),
		"another domain that ends alike":  labels("notlinode.com/x", "y"),
	} {
		if err := pool(accepted); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
