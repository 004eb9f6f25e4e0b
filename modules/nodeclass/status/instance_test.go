package status_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Each case has a condition of instance mode for a spec in a region, and words that its message must have: the field and the cure.
func TestConditionsOfInstanceMode(t *testing.T) {
	const (
		version   = v1alpha1.ConditionKubernetesVersionReady
		bootstrap = v1alpha1.ConditionBootstrapReady
		region    = v1alpha1.ConditionRegionReady
		image     = v1alpha1.ConditionImageReady
		network   = v1alpha1.ConditionNetworkReady
		group     = v1alpha1.ConditionPlacementGroupReady
	)
	dual := &v1alpha1.IPv6Options{EnableSLAAC: ptr(true)}
	private := []v1alpha1.Interface{{Type: v1alpha1.InterfaceVPC, NAT: ptr(false)}}
	for _, test := range []struct {
		name      string
		region    string
		spec      v1alpha1.LinodeNodeClassSpec
		condition string
		status    metav1.ConditionStatus
		reason    string
		words     []string
	}{
		{"nothing set", "us-ord", v1alpha1.LinodeNodeClassSpec{}, bootstrap, "True", v1alpha1.ReasonCheckSkipped, nil},
		{"nothing set", "us-ord", v1alpha1.LinodeNodeClassSpec{}, region, "True", region, nil},
		{"unknown region", "mars", v1alpha1.LinodeNodeClassSpec{}, region, "False", v1alpha1.ReasonRegionUnsuitable,
			[]string{`"mars"`, "CLUSTER_REGION"}},
		{"region without Metadata", "old", v1alpha1.LinodeNodeClassSpec{}, region, "False", v1alpha1.ReasonRegionUnsuitable,
			[]string{"Metadata", "spec.bootstrap", "another region (CLUSTER_REGION)"}},
		{"region without VPCs", "bare", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3)}, region, "False", v1alpha1.ReasonRegionUnsuitable,
			[]string{"VPCs", "spec.vpcID"}},
		{"region without placement groups", "bare", v1alpha1.LinodeNodeClassSpec{PlacementGroup: &v1alpha1.PlacementGroup{ID: 1}}, region,
			"False", v1alpha1.ReasonRegionUnsuitable, []string{"spec.placementGroup"}},
		{"region without disk encryption", "bare", v1alpha1.LinodeNodeClassSpec{DiskEncryption: v1alpha1.DiskEncryptionEnabled}, region,
			"False", v1alpha1.ReasonRegionUnsuitable, []string{"spec.diskEncryption"}},
		{"disk encryption in limited availability", "us-ord", v1alpha1.LinodeNodeClassSpec{DiskEncryption: v1alpha1.DiskEncryptionEnabled},
			region, "True", region, nil},

		{"fields that do nothing in instance mode", "us-ord",
			v1alpha1.LinodeNodeClassSpec{IPv6Options: &v1alpha1.IPv6Options{}, Isolation: &v1alpha1.Isolation{}},
			v1alpha1.ConditionValidationSucceeded,
			"True", v1alpha1.ReasonFieldsWithoutEffect, []string{"isolation", "ipv6Options", "instance mode"}},
		{"an earlier version", "us-ord", v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{KubernetesVersion: "v1.34.9"}}, version,
			"True", version, nil},
		{"a newer version", "us-ord", v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{KubernetesVersion: "v1.36.0"}}, version,
			"False", v1alpha1.ReasonKubernetesVersionTooNew, []string{"spec.bootstrap.kubernetesVersion", "v1.35.1", "earlier"}},

		{"selected image", "us-ord", v1alpha1.LinodeNodeClassSpec{ImageSelector: &v1alpha1.ImageSelector{Label: "kubernetes-*"}}, image, "True",
			image, nil},
		{"no image matches", "us-ord", v1alpha1.LinodeNodeClassSpec{ImageSelector: &v1alpha1.ImageSelector{Label: "x-*"}}, image,
			"False", v1alpha1.ReasonImageNotFound, []string{`"x-*"`, "spec.imageSelector.label"}},

		{"no VPC", "us-ord", v1alpha1.LinodeNodeClassSpec{}, network, "True", v1alpha1.ReasonNotRequested, nil},
		{"VPC and subnet", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(30)}, network, "True", network, nil},
		{"VPC without subnet", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3)}, network, "False", v1alpha1.ReasonVPCNotFound,
			[]string{"set spec.subnetID"}},
		{"VPC that is not there", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(9), SubnetID: ptr(30)}, network, "False",
			v1alpha1.ReasonVPCNotFound, []string{"9", "spec.vpcID"}},
		{"VPC elsewhere", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(4), SubnetID: ptr(40)}, network, "False",
			v1alpha1.ReasonVPCWrongRegion, []string{"de-fra-2", "us-ord"}},
		{"subnet of another VPC", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(40)}, network, "False",
			v1alpha1.ReasonVPCNotFound, []string{"40", "spec.subnetID"}},
		{"IPv6 in a subnet that has it", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(31), IPv6Options: dual}, network,
			"True", network, nil},
		{"IPv6 in a subnet that has it", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(31), IPv6Options: dual},
			v1alpha1.ConditionValidationSucceeded, "True", v1alpha1.ConditionValidationSucceeded, nil},
		{"IPv6 in a subnet without", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(30), IPv6Options: dual}, network,
			"False", v1alpha1.ReasonSubnetWithoutIPv6, []string{"spec.ipv6Options", "subnet 30", "spec.subnetID"}},
		{"IPv6 options that ask for nothing in a subnet without", "us-ord",
			v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(30), IPv6Options: &v1alpha1.IPv6Options{EnableSLAAC: ptr(false)}},
			network, "True", network, nil},
		{"IPv6 options that ask for nothing", "us-ord",
			v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(31), IPv6Options: &v1alpha1.IPv6Options{IsPublicIPv6: ptr(true)}},
			v1alpha1.ConditionValidationSucceeded, "True", v1alpha1.ReasonFieldsWithoutEffect, []string{"ipv6Options", "enableSLAAC"}},
		{"IPv6 without an interface in the VPC", "us-ord", v1alpha1.LinodeNodeClassSpec{IPv6Options: dual}, v1alpha1.ConditionValidationSucceeded,
			"True", v1alpha1.ReasonFieldsWithoutEffect, []string{"ipv6Options", "an interface in a VPC"}},
		{"IPv6 on a public interface beside a VPC", "us-ord",
			v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(31), Interfaces: []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}},
				IPv6Options: dual},
			v1alpha1.ConditionValidationSucceeded, "True", v1alpha1.ReasonFieldsWithoutEffect, []string{"ipv6Options", "an interface in a VPC"}},
		{"IPv6 ranges on a legacy public interface", "us-ord",
			v1alpha1.LinodeNodeClassSpec{IPv6Options: &v1alpha1.IPv6Options{EnableRanges: []string{"/64"}}},
			v1alpha1.ConditionValidationSucceeded, "True", v1alpha1.ReasonFieldsWithoutEffect,
			[]string{"ipv6Options", "Linode interfaces", "account:read_only"}},
		{"VPC without a public address", "us-ord", v1alpha1.LinodeNodeClassSpec{VPCID: ptr(3), SubnetID: ptr(30), Interfaces: private}, network,
			"True", v1alpha1.ReasonMetadataUnreachable, []string{"Metadata service", "nat: true"}},

		{"full placement group", "us-ord", v1alpha1.LinodeNodeClassSpec{PlacementGroup: &v1alpha1.PlacementGroup{ID: 3}}, group,
			"True", v1alpha1.ReasonPlacementGroupFull, []string{"spec.placementGroups"}},
		{"one of two placement groups full", "us-ord", v1alpha1.LinodeNodeClassSpec{PlacementGroups: []v1alpha1.PlacementGroup{{ID: 3}, {ID: 1}}},
			group, "True", group, nil},
		{"one of two placement groups elsewhere", "us-ord",
			v1alpha1.LinodeNodeClassSpec{PlacementGroups: []v1alpha1.PlacementGroup{{ID: 1}, {ID: 2}}}, group,
			"False", v1alpha1.ReasonPlacementGroupWrongRegion, []string{"2"}},
	} {
		t.Run(test.name+" "+test.condition, func(t *testing.T) {
			cluster := instance
			cluster.Region = test.region
			got := find(t, status.Evaluate(context.Background(), classOf(test.spec), cluster, anAccount()).Conditions, test.condition)
			expect(t, got, test.status, test.reason, test.words)
		})
	}
}

// The account is read only for a class whose public interface is to get ranges.
func TestIPv6RangesOfAPublicInterfaceNeedLinodeInterfaces(t *testing.T) {
	for name, test := range map[string]struct {
		spec   v1alpha1.LinodeNodeClassSpec
		linode bool
		reason string
		asked  int
	}{
		"no ranges": {v1alpha1.LinodeNodeClassSpec{}, true, v1alpha1.ConditionValidationSucceeded, 0},
		"Linode interfaces": {v1alpha1.LinodeNodeClassSpec{IPv6Options: &v1alpha1.IPv6Options{EnableRanges: []string{"/64"}}}, true,
			v1alpha1.ConditionValidationSucceeded, 1},
		"legacy interfaces": {v1alpha1.LinodeNodeClassSpec{IPv6Options: &v1alpha1.IPv6Options{EnableRanges: []string{"/64"}}}, false,
			v1alpha1.ReasonFieldsWithoutEffect, 1},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, asked := instance, 0
			cluster.LinodeInterfaces = func(context.Context) bool { asked++; return test.linode }
			conditions := status.Evaluate(context.Background(), classOf(test.spec), cluster, anAccount()).Conditions
			if got := find(t, conditions, v1alpha1.ConditionValidationSucceeded); got.Reason != test.reason || asked != test.asked {
				t.Errorf("reason %s after %d questions, expected %s after %d", got.Reason, asked, test.reason, test.asked)
			}
		})
	}
}

func TestBootstrapReadyIsWhatTheClusterFinds(t *testing.T) {
	cluster := instance
	cluster.Bootstrap = func(context.Context, *v1alpha1.LinodeNodeClass) status.Finding {
		return status.Finding{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEndpointUnknown, Message: "set settings.clusterEndpoint"}
	}
	result := status.Evaluate(context.Background(), classOf(v1alpha1.LinodeNodeClassSpec{}), cluster, anAccount())
	if got := find(t, result.Conditions, v1alpha1.ConditionBootstrapReady); got.Reason != v1alpha1.ReasonEndpointUnknown || result.Ready() {
		t.Errorf("the condition is %+v, the class is ready: %t", got, result.Ready())
	}
}

func TestNodesGetTheVersionThatTheClassAsksFor(t *testing.T) {
	for asked, want := range map[string]string{"": "v1.35.1", "v1.34.2": "v1.34.2", v1alpha1.ClusterMinor: "v1.35.1"} {
		class := classOf(v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{KubernetesVersion: asked}})
		if got := status.Evaluate(context.Background(), class, instance, anAccount()).KubernetesVersion; got != want {
			t.Errorf("with %q the version is %q, expected %q", asked, got, want)
		}
	}
}
