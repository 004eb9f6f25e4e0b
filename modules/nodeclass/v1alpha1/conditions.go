package v1alpha1

import (
	"slices"

	"github.com/awslabs/operatorpkg/status"
)

// Types of the conditions. Ready (status.ConditionReady) is true when all of these conditions are true. Karpenter makes no node from a
// class that is not Ready.
const (
	// ConditionValidationSucceeded: the spec can work in this cluster and mode.
	ConditionValidationSucceeded = "ValidationSucceeded"
	// ConditionKubernetesVersionReady: status.kubernetesVersion is the version new nodes will run.
	ConditionKubernetesVersionReady = "KubernetesVersionReady"
	// ConditionFirewallReady: the Cloud Firewall of the spec exists and can be used, or the spec names none.
	ConditionFirewallReady = "FirewallReady"
	// ConditionImageReady: the image can be used. In instance mode only.
	ConditionImageReady = "ImageReady"
	// ConditionBootstrapReady: endpoint, CA, token source and user data, with which nodes join, are known. In instance mode only.
	ConditionBootstrapReady = "BootstrapReady"
	// ConditionRegionReady: the region has what the class needs. In instance mode only.
	ConditionRegionReady = "RegionReady"
	// ConditionNetworkReady: VPC and subnet exist, in the region. In instance mode only.
	ConditionNetworkReady = "NetworkReady"
	// ConditionPlacementGroupReady: the placement group of the spec exists in the region, or the spec names none.
	// In instance mode only.
	ConditionPlacementGroupReady = "PlacementGroupReady"
	// ConditionMachineDeploymentsReady: at least one MachineDeployment that the class selects can be used. In clusterapi mode only.
	ConditionMachineDeploymentsReady = "MachineDeploymentsReady"
)

// ConditionLaunchesAccepted is False, with ReasonLaunchRefused, while the Linode API refuses launches from the class. It is absent
// otherwise. Ready does not depend on it.
const (
	ConditionLaunchesAccepted = "LaunchesAccepted"
	ReasonLaunchRefused       = "LaunchRefused"
)

// ConditionVersionProvided is False, with ReasonImageVersionDiffers, while new nodes of a class with ClusterMinor join with another minor
// version than the control plane has. It is absent otherwise. Ready does not depend on it.
const (
	ConditionVersionProvided  = "KubernetesVersionProvided"
	ReasonImageVersionDiffers = "ImageVersionDiffers"
)

// ReasonWaitingOnNodeClaimTermination: the class is being deleted and NodeClaims still use it. Only Ready has this reason.
const ReasonWaitingOnNodeClaimTermination = "WaitingOnNodeClaimTermination"

// Reasons of conditions that are not true. Scripts and alerts may rely on them.
const (
	// ReasonTagValidationFailed: a tag has a key that the provider manages, or a length that Linode refuses.
	ReasonTagValidationFailed = "TagValidationFailed"
	// ReasonLKEK8sVersionUnsupported: lkeK8sVersion is set where nodes cannot have a version of their own.
	ReasonLKEK8sVersionUnsupported = "LKEK8sVersionUnsupported"
	// ReasonLKEK8sVersionControlPlaneMismatch: lkeK8sVersion is not the version of the control plane.
	ReasonLKEK8sVersionControlPlaneMismatch = "LKEK8sVersionControlPlaneMismatch"
	// ReasonFirewallNotFound: no Cloud Firewall of the account has this ID.
	ReasonFirewallNotFound = "FirewallNotFound"
	// ReasonFirewallUnsupported: node pools of the cluster's tier take no firewall.
	ReasonFirewallUnsupported = "FirewallUnsupported"
	// ReasonIsolationUnsupported: nodes of the cluster's tier cannot be without public addresses.
	ReasonIsolationUnsupported = "IsolationUnsupported"
	// ReasonImageNotFound: the account has no image with this ID.
	ReasonImageNotFound = "ImageNotFound"
	// ReasonImageUnsuitable: the image exists and cannot be used: not available, or without cloud-init.
	ReasonImageUnsuitable = "ImageUnsuitable"
	// ReasonPlacementGroupNotFound: the account has no placement group with this ID.
	ReasonPlacementGroupNotFound = "PlacementGroupNotFound"
	// ReasonPlacementGroupWrongRegion: the placement group is in another region than the cluster.
	ReasonPlacementGroupWrongRegion = "PlacementGroupWrongRegion"
	// ReasonPlacementGroupFull: all placement groups of the class have as many members as their region allows.
	ReasonPlacementGroupFull = "PlacementGroupFull"
	// ReasonKubernetesVersionTooNew: bootstrap.kubernetesVersion is newer than the API server.
	ReasonKubernetesVersionTooNew = "KubernetesVersionTooNew"
	// ReasonEndpointUnknown: the address that nodes join is not known.
	ReasonEndpointUnknown = "EndpointUnknown"
	// ReasonCAUnknown: the cluster's CA is not known, so nodes could not verify the API server.
	ReasonCAUnknown = "CAUnknown"
	// ReasonSecretNotFound: a Secret that the class names does not exist or lacks the key.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonBootstrapInvalid: no user data can be rendered.
	ReasonBootstrapInvalid = "BootstrapInvalid"
	// ReasonVPCMismatch: the cloud controller manager does not work with the class's VPC.
	ReasonVPCMismatch = "VPCMismatch"
	// ReasonTagFilterMismatch: the cloud controller manager finds no Linode of the class, because none has a tag of its filter.
	ReasonTagFilterMismatch = "TagFilterMismatch"
	// ReasonNotAllowed: the class names an image, firewall, VPC or login that the operator's settings do not allow.
	ReasonNotAllowed = "NotAllowed"
	// ReasonRegionUnsuitable: the region lacks a capability that the class needs.
	ReasonRegionUnsuitable = "RegionUnsuitable"
	// ReasonVPCNotFound: the account has no such VPC, or the VPC no such subnet.
	ReasonVPCNotFound = "VPCNotFound"
	// ReasonVPCWrongRegion: the VPC is in another region than the nodes.
	ReasonVPCWrongRegion = "VPCWrongRegion"
	// ReasonSubnetWithoutIPv6: ipv6Options requests addresses, and the subnet has no IPv6 network.
	ReasonSubnetWithoutIPv6 = "SubnetWithoutIPv6"
	// ReasonNoMachineDeployments: the class selects no MachineDeployment of the cluster.
	ReasonNoMachineDeployments = "NoMachineDeployments"
	// ReasonMachineDeploymentsUnusable: no MachineDeployment that the class selects can be used.
	ReasonMachineDeploymentsUnusable = "MachineDeploymentsUnusable"
	// ReasonMachinePoolsUnsupported: MachinePools have the label that opts in, but the operator could not choose which of their Machines
	// to remove.
	ReasonMachinePoolsUnsupported = "MachinePoolsUnsupported"
	// ReasonForbidden: the token may not read what has to be checked.
	ReasonForbidden = "Forbidden"
	// ReasonCheckFailed: the Linode API did not answer; the check is repeated.
	ReasonCheckFailed = "CheckFailed"
)

// Reasons of conditions that are true and have something to report.
const (
	// ReasonSomeMachineDeploymentsUnusable: some of the MachineDeployments that the class selects cannot be used.
	ReasonSomeMachineDeploymentsUnusable = "SomeMachineDeploymentsUnusable"
	// ReasonNodesDiffer: Nodes have other labels than the templates of their MachineDeployments.
	ReasonNodesDiffer = "NodesDiffer"
	// ReasonUnregisteredTaintMissing: bootstrap templates let nodes register without Karpenter's taint.
	ReasonUnregisteredTaintMissing = "UnregisteredTaintMissing"
	// ReasonNotRequested: the class sets no field that this condition checks.
	ReasonNotRequested = "NotRequested"
	// ReasonCheckSkipped: checks that call the Linode API are switched off (DISABLE_DRY_RUN).
	ReasonCheckSkipped = "CheckSkipped"
	// ReasonFieldsWithoutEffect: fields are set that have no effect in the controller's mode.
	ReasonFieldsWithoutEffect = "FieldsWithoutEffect"
	// ReasonFirewallDisabled: the Cloud Firewall exists and is switched off.
	ReasonFirewallDisabled = "FirewallDisabled"
	// ReasonMetadataUnreachable: the instances may not reach the Metadata service, because they have no public address.
	ReasonMetadataUnreachable = "MetadataUnreachable"
	// ReasonNoPrivateAddress: the instances have no address by which a NodeBalancer reaches them.
	ReasonNoPrivateAddress = "NoPrivateAddress"
	// ReasonContractIncomplete: the user data does not use all variables by which a node gets its labels, taints and kubelet settings.
	ReasonContractIncomplete = "ContractIncomplete"
	// ReasonImageDeprecated: the image can be used, and Linode will remove it.
	ReasonImageDeprecated = "ImageDeprecated"
)

// ConditionTypes returns the conditions that Ready depends on in a mode, in the order they are evaluated.
func ConditionTypes(mode Mode) []string {
	types := []string{ConditionValidationSucceeded, ConditionKubernetesVersionReady, ConditionFirewallReady}
	switch mode {
	case ModeClusterAPI:
		types = append(types, ConditionMachineDeploymentsReady)
	case ModeInstance:
		types = append(types, ConditionBootstrapReady, ConditionRegionReady, ConditionImageReady, ConditionNetworkReady,
			ConditionPlacementGroupReady)
	}
	return types
}

// StatusConditions returns the conditions as a set whose root, Ready, follows the others. The class does not know the controller's mode,
// so a condition that only one mode has counts if the class has it.
func (in *LinodeNodeClass) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	mode := ModeLKE
	for _, other := range []Mode{ModeInstance, ModeClusterAPI} {
		if slices.ContainsFunc(in.Status.Conditions, func(c status.Condition) bool {
			return slices.Contains(ConditionTypes(other), c.Type) && !slices.Contains(ConditionTypes(ModeLKE), c.Type)
		}) {
			mode = other
		}
	}
	return in.StatusConditionsFor(mode, opts...)
}

// StatusConditionsFor is StatusConditions for a known mode. The controller that writes the status uses it, so
// that the conditions of the mode exist from the first write on.
func (in *LinodeNodeClass) StatusConditionsFor(mode Mode, opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions(ConditionTypes(mode)...).For(in, opts...)
}

// GetConditions implements status.Object.
func (in *LinodeNodeClass) GetConditions() []status.Condition {
	return in.Status.Conditions
}

// SetConditions implements status.Object.
func (in *LinodeNodeClass) SetConditions(conditions []status.Condition) {
	in.Status.Conditions = conditions
}

var _ status.Object = (*LinodeNodeClass)(nil)
