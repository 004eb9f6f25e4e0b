package cloudprovider

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/utils/pretty"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// launched returns the NodeClaim as Create returns it.
func launched(node Node, nodeClass *v1alpha1.LinodeNodeClass, mode v1alpha1.Mode, instanceType *cloudprovider.InstanceType,
	region string) (*karpv1.NodeClaim, error) {
	claim, err := observed(node, instanceType, region)
	if err != nil {
		return nil, err
	}
	tags := append([]string{}, nodeClass.Spec.Tags...)
	slices.Sort(tags)
	claim.Annotations = map[string]string{
		v1alpha1.AnnotationHash:                nodeClass.Hash(mode),
		v1alpha1.AnnotationHashVersion:         v1alpha1.HashVersion,
		v1alpha1.AnnotationLastAppliedUserTags: pretty.Concise(tags),
	}
	if nodeClass.Spec.Effective(mode).FollowsCluster() {
		claim.Annotations[v1alpha1.AnnotationKubernetesVersion] = nodeClass.Status.KubernetesVersion
	}
	return claim, nil
}

// observed returns the NodeClaim of a claimed node. instanceType is nil if the catalog does not list the node's plan (any more). The node
// is returned nevertheless, without capacity.
func observed(node Node, instanceType *cloudprovider.InstanceType, region string) (*karpv1.NodeClaim, error) {
	if node.InstanceID <= 0 {
		return nil, fmt.Errorf("node %q has no instance", node.Name)
	}
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:              node.Claim,
			CreationTimestamp: metav1.NewTime(node.Created),
			Labels:            labels(node, instanceType, region),
		},
		Status: karpv1.NodeClaimStatus{ProviderID: nodeclaim.ProviderID(node.InstanceID), ImageID: node.Image},
	}
	if instanceType != nil {
		claim.Status.Capacity = instanceType.Capacity.DeepCopy()
		claim.Status.Allocatable = instanceType.Allocatable().DeepCopy()
	}
	if node.Health == claims.Deleting || node.Health == claims.Detached {
		// With a deletion timestamp, core counts the instance as gone. The true time of the deletion is not known, and core does not use it.
		claim.DeletionTimestamp = &metav1.Time{Time: node.Created}
	}
	return claim, nil
}

// labels returns the labels that Karpenter puts on the Node.
func labels(node Node, instanceType *cloudprovider.InstanceType, region string) map[string]string {
	result := LabelsOf(instanceType, region)
	result[corev1.LabelInstanceTypeStable] = node.InstanceType
	for _, tag := range node.Tags {
		if nodePool, ok := strings.CutPrefix(tag, v1alpha1.TagNodePool+"="); ok {
			result[karpv1.NodePoolLabelKey] = nodePool
		}
	}
	return result
}

// LabelsOf returns the labels of nodes of an instance type. instanceType is nil if the type is not known. Linode has no zones, so the zone
// is the region.
func LabelsOf(instanceType *cloudprovider.InstanceType, region string) map[string]string {
	result := map[string]string{}
	if instanceType != nil {
		for key, requirement := range instanceType.Requirements {
			if requirement.Operator() == corev1.NodeSelectorOpIn && requirement.Len() == 1 {
				result[key] = requirement.Any()
			}
		}
		result[corev1.LabelInstanceTypeStable] = instanceType.Name
	}
	result[corev1.LabelTopologyRegion], result[corev1.LabelTopologyZone] = region, region
	result[karpv1.CapacityTypeLabelKey] = karpv1.CapacityTypeOnDemand
	return result
}
