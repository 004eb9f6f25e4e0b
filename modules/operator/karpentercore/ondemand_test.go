package karpentercore_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

func TestReplacementsForSpotBecomeOnDemand(t *testing.T) {
	in := func(values ...string) []karpv1.NodeSelectorRequirementWithMinValues {
		return []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot"}},
			{Key: karpv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: values},
		}
	}
	tests := []struct {
		name               string
		requirements, want []karpv1.NodeSelectorRequirementWithMinValues
		label, wantLabel   string
	}{
		{"what consolidation makes", in("spot"), in("on-demand"), "spot", "on-demand"},
		{"without the label", in("spot"), in("on-demand"), "", ""},
		{"on-demand", in("on-demand"), in("on-demand"), "on-demand", "on-demand"},
		{"a choice stays one", in("on-demand", "spot"), in("on-demand", "spot"), "", ""},
		{"reserved gets nothing", in("reserved"), in("reserved"), "reserved", "reserved"},
		{"no requirement", nil, nil, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			labels := map[string]string{"other": "spot"}
			if tt.label != "" {
				labels[karpv1.CapacityTypeLabelKey] = tt.label
			}
			made := &karpv1.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "claim", Labels: labels}, Spec: karpv1.NodeClaimSpec{Requirements: tt.requirements},
			}
			kube := karpentercore.OnDemand(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
			if err := kube.Create(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			stored := &karpv1.NodeClaim{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(made), stored); err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string]*karpv1.NodeClaim{"stored": stored, "given": made} {
				if !equality.Semantic.DeepEqual(got.Spec.Requirements, tt.want) {
					t.Errorf("%s: requirements %v, want %v", what, got.Spec.Requirements, tt.want)
				}
				if got.Labels[karpv1.CapacityTypeLabelKey] != tt.wantLabel || got.Labels["other"] != "spot" {
					t.Errorf("%s: labels %v", what, got.Labels)
				}
			}
		})
	}
}

func TestOtherObjectsPass(t *testing.T) {
	kube := karpentercore.OnDemand(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{karpv1.CapacityTypeLabelKey: "spot"}}}
	if err := kube.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if node.Labels[karpv1.CapacityTypeLabelKey] != "spot" {
		t.Errorf("labels %v", node.Labels)
	}
}
