package v1alpha1

// Mode determines how the operator gets nodes. It is set for the whole operator (KARPENTER_MODE), not per class.
type Mode string

const (
	// ModeLKE takes nodes from LKE node pools.
	ModeLKE Mode = "lke"
	// ModeInstance makes plain Linodes that join a self-managed cluster.
	ModeInstance Mode = "instance"
	// ModeClusterAPI takes Machines from MachineDeployments of Cluster API.
	ModeClusterAPI Mode = "clusterapi"
)
