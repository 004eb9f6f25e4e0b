package learnedcapacity

import (
	"context"
	"slices"
	"testing"

	opstatus "github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// Core plans with the figures of a node from the time on at which the Node exists. So a node that is too small is reported when it is
// registered: between that and its initialization, a pass of the provisioner for any pod would buy the same plan again.
func TestANodeThatIsTooSmallIsReportedWhenItIsRegistered(t *testing.T) {
	const gpu = "nvidia.com/gpu"
	quantities := func(memory, gpus string) corev1.ResourceList {
		list := corev1.ResourceList{"memory": resource.MustParse(memory)}
		if gpus != "" {
			list[gpu] = resource.MustParse(gpus)
		}
		return list
	}
	registered := []string{karpv1.ConditionTypeRegistered}
	initialized := append(slices.Clone(registered), karpv1.ConditionTypeInitialized)
	for name, c := range map[string]struct {
		conditions []string
		shows      corev1.ResourceList
		reported   string // the memory that is reported
	}{
		"not registered":                      {nil, quantities("7Gi", ""), ""},
		"registered, too little memory":       {registered, quantities("7Gi", ""), "7Gi"},
		"registered, its GPU is not shown":    {registered, quantities("8Gi", "0"), ""},
		"registered, shows nothing":           {registered, nil, ""},
		"initialized, too little memory":      {initialized, quantities("7Gi", "1"), "7Gi"},
		"initialized, without its GPU":        {initialized, quantities("8Gi", ""), "8Gi"},
		"initialized, holds what it was made": {initialized, quantities("8Gi", "1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{ProviderID: "linode://1"},
				Status: corev1.NodeStatus{Allocatable: c.shows}}
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim",
				Labels: map[string]string{corev1.LabelInstanceTypeStable: "g2-gpu-rtx4000a1-s"}}}
			claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind}
			claim.Spec.Resources.Requests, claim.Status.Allocatable = quantities("7500Mi", "1"), quantities("8Gi", "1")
			claim.Status.NodeName, claim.Status.ProviderID = node.Name, node.Spec.ProviderID
			for _, is := range c.conditions {
				claim.Status.Conditions = append(claim.Status.Conditions, opstatus.Condition{Type: is, Status: metav1.ConditionTrue})
			}
			reported := ""
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node).Build()
			controller := NewController(kube, anyCatalog(t, v1alpha1.ModeLKE), nil,
				func(_ context.Context, _ *karpv1.NodeClaim, node *corev1.Node) {
					reported = node.Status.Allocatable.Memory().String()
				})
			if _, err := controller.Reconcile(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			if reported != c.reported {
				t.Errorf("reported with memory %q, want %q", reported, c.reported)
			}
		})
	}
}

func anyCatalog(t *testing.T, mode v1alpha1.Mode) *catalog.Catalog {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return catalog.NewCatalog(client, catalog.Config{Region: "us-ord", Mode: mode})
}
