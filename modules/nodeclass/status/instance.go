package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Capabilities of a region, in the words of the Linode API.
const (
	CapabilityMetadata       = "Metadata"
	CapabilityVPCs           = "VPCs"
	CapabilityPlacementGroup = "Placement Group"
	CapabilityDiskEncryption = "Disk Encryption"
)

// instanceVersion returns the Kubernetes version of nodes in instance mode, or the problem of the version that the class sets.
func (e *evaluation) instanceVersion() (string, *problem) {
	asked := ""
	if e.class.Spec.Bootstrap != nil && !e.class.Spec.FollowsCluster() {
		asked = e.class.Spec.Bootstrap.KubernetesVersion
	}
	if asked == "" {
		return e.cluster.ControlPlaneVersion, nil
	}
	node, err := version.ParseGeneric(asked)
	if err != nil {
		return "", &problem{v1alpha1.ReasonBootstrapInvalid,
			fmt.Sprintf("spec.bootstrap.kubernetesVersion is %q, which is no version; set it to one like v1.35.2", asked)}
	}
	if server, err := version.ParseGeneric(e.cluster.ControlPlaneVersion); err == nil && server.LessThan(node) {
		return "", &problem{v1alpha1.ReasonKubernetesVersionTooNew, fmt.Sprintf(
			"spec.bootstrap.kubernetesVersion is %q, but the API server runs %q, and no node may be newer; set it to that or an earlier version, "+
				"or remove it",
			asked, e.cluster.ControlPlaneVersion)}
	}
	return asked, nil
}

// need is a capability of the region that a field of the class needs, and what a user can do if the region lacks the capability.
type need struct{ capability, field, cure string }

func needs(spec v1alpha1.LinodeNodeClassSpec) []need {
	const cure = "remove that, or use another region"
	needed := []need{{CapabilityMetadata, "spec.bootstrap, whatever its type,", "use another region (CLUSTER_REGION)"}}
	if spec.VPCID != nil {
		needed = append(needed, need{CapabilityVPCs, "spec.vpcID", cure})
	}
	if len(spec.Groups()) > 0 {
		needed = append(needed, need{CapabilityPlacementGroup, "spec.placementGroup", cure})
	}
	if spec.DiskEncryption == v1alpha1.DiskEncryptionEnabled {
		needed = append(needed, need{CapabilityDiskEncryption, "spec.diskEncryption", cure})
	}
	return needed
}

func (e *evaluation) region(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionRegionReady
	if e.lookup == nil {
		return skipped(conditionType)
	}
	id := e.cluster.Region
	found, err := e.lookup.Region(ctx, id)
	switch {
	case err != nil:
		return e.failed(conditionType, "region "+id, "linodes:read_only", err, true) // the setting is the same for every class
	case found == nil:
		return isFalse(conditionType, v1alpha1.ReasonRegionUnsuitable, "Linode has no region %q; correct the setting region (CLUSTER_REGION)", id)
	}
	for _, need := range needs(e.class.Spec) {
		has := slices.ContainsFunc(found.Capabilities, func(c string) bool {
			return c == need.capability || need.capability == CapabilityDiskEncryption && strings.HasSuffix(c, need.capability) // LA Disk Encryption
		})
		if !has {
			return isFalse(conditionType, v1alpha1.ReasonRegionUnsuitable,
				"region %s does not have the capability %q, which %s needs; %s", id, need.capability, need.field, need.cure)
		}
	}
	return isTrue(conditionType, conditionType, "")
}

func (e *evaluation) network(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionNetworkReady
	spec := e.class.Spec
	if spec.VPCID == nil {
		return isTrue(conditionType, v1alpha1.ReasonNotRequested, "")
	}
	id := *spec.VPCID
	subnets := subnetsOf(spec)
	if len(subnets) == 0 {
		return isFalse(conditionType, v1alpha1.ReasonVPCNotFound,
			"spec.vpcID is %d, but no subnet is given; set spec.subnetID to the ID of a subnet of it", id)
	}
	if e.lookup == nil {
		return skipped(conditionType)
	}
	found, err := e.lookup.VPC(ctx, id)
	switch {
	case err != nil:
		return e.failed(conditionType, fmt.Sprintf("VPC %d", id), "vpc:read_only", err, false)
	case found == nil:
		return isFalse(conditionType, v1alpha1.ReasonVPCNotFound, "the account has no VPC with ID %d; correct spec.vpcID", id)
	case found.Region != e.cluster.Region:
		return isFalse(conditionType, v1alpha1.ReasonVPCWrongRegion,
			"VPC %d (%s) is in region %s, but nodes are made in %s; choose one of that region in spec.vpcID",
			id, bounded(found.Label, mostLabel), found.Region, e.cluster.Region)
	}
	for _, subnet := range subnets {
		if !slices.Contains(found.Subnets, subnet) {
			return isFalse(conditionType, v1alpha1.ReasonVPCNotFound, "VPC %d has no subnet with ID %d; correct spec.subnetID", id, subnet)
		}
		if spec.IPv6InVPC() != nil && !slices.Contains(found.IPv6Subnets, subnet) {
			return isFalse(conditionType, v1alpha1.ReasonSubnetWithoutIPv6,
				"spec.ipv6Options requests IPv6 addresses, but subnet %d of VPC %d has no IPv6 network; choose a subnet that has one in "+
					"spec.subnetID, or remove spec.ipv6Options", subnet, id)
		}
	}
	if withoutPublicAddress(spec) {
		return isTrue(conditionType, v1alpha1.ReasonMetadataUnreachable,
			"the interfaces have neither a public address nor NAT 1:1, without which a Linode may not reach the Metadata service and never "+
				"joins; set nat: true on the vpc interface, or add a public one")
	}
	return isTrue(conditionType, conditionType, "")
}

// subnetsOf returns the subnets that the class names.
func subnetsOf(spec v1alpha1.LinodeNodeClassSpec) []int {
	var subnets []int
	if spec.SubnetID != nil {
		subnets = append(subnets, *spec.SubnetID)
	}
	for _, i := range spec.Interfaces {
		if i.SubnetID != nil {
			subnets = append(subnets, *i.SubnetID)
		}
	}
	return subnets
}

func withoutPublicAddress(spec v1alpha1.LinodeNodeClassSpec) bool {
	for _, i := range spec.Interfaces {
		if i.Type == v1alpha1.InterfacePublic || i.NAT == nil || *i.NAT {
			return false
		}
	}
	return len(spec.Interfaces) > 0
}

// placementGroups checks each placement group: each must be in the region, and at least one must have room.
func (e *evaluation) placementGroups(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionPlacementGroupReady
	groups := e.class.Spec.Groups()
	if len(groups) == 0 {
		return isTrue(conditionType, v1alpha1.ReasonNotRequested, "")
	}
	if e.lookup == nil {
		return skipped(conditionType)
	}
	room := false
	for _, group := range groups {
		condition, full := e.placementGroup(ctx, group.ID)
		if condition.Status != metav1.ConditionTrue {
			return condition
		}
		room = room || !full
	}
	if !room {
		// The class's own nodes count as members, so a class at its limit gets here: it stays Ready, and the launch of a further node
		// reports the full group.
		return isTrue(conditionType, v1alpha1.ReasonPlacementGroupFull,
			"all placement groups of the class are full; a further node needs another one in spec.placementGroups")
	}
	return isTrue(conditionType, conditionType, "")
}

func (e *evaluation) placementGroup(ctx context.Context, id int) (condition status.Condition, full bool) {
	const conditionType = v1alpha1.ConditionPlacementGroupReady
	found, err := e.lookup.PlacementGroup(ctx, id)
	switch {
	case err != nil:
		return e.failed(conditionType, fmt.Sprintf("placement group %d", id), "linodes:read_only", err, false), false
	case found == nil:
		return isFalse(conditionType, v1alpha1.ReasonPlacementGroupNotFound,
			"the account has no placement group with ID %d; correct spec.placementGroup.id", id), false
	case found.Region != e.cluster.Region:
		return isFalse(conditionType, v1alpha1.ReasonPlacementGroupWrongRegion,
			"placement group %d (%s) is in region %s, but nodes are made in %s; choose one of that region",
			id, found.Label, found.Region, e.cluster.Region), false
	}
	return isTrue(conditionType, conditionType, ""), found.Limit > 0 && found.Members >= found.Limit
}

// selectedImage finds the newest image that the class's selector matches.
func (e *evaluation) selectedImage(ctx context.Context) status.Condition {
	const conditionType = v1alpha1.ConditionImageReady
	pattern := e.class.Spec.ImageSelector.Label
	if e.lookup == nil {
		return isFalse(conditionType, v1alpha1.ReasonImageNotFound,
			"spec.imageSelector needs the checks that DISABLE_DRY_RUN switches off; set spec.image instead")
	}
	id, label, err := e.lookup.NewestImage(ctx, pattern)
	switch {
	case err != nil:
		known := e.class.Status.Images
		condition := e.failed(conditionType, "images", "images:read_only", err, len(known) == 1)
		if condition.IsTrue() {
			e.result.Images = slices.Clone(known)
		}
		return condition
	case id == "":
		return isFalse(conditionType, v1alpha1.ReasonImageNotFound,
			"no available image with cloud-init has a label like %q; correct spec.imageSelector.label, or upload one", pattern)
	}
	e.result.Images = []v1alpha1.Image{{ID: id, Label: bounded(label, mostLabel)}}
	return isTrue(conditionType, conditionType, "")
}
