package clusterapi

const (
	// EnabledLabel opts a MachineDeployment in, with the value "true".
	EnabledLabel = "karpenter.k8s.linode/enabled"
	// HourlyPriceAnnotation on a MachineDeployment is the price in USD of one of its Machines for an hour.
	HourlyPriceAnnotation = "karpenter.k8s.linode/hourly-price"
	// ClaimAnnotation on a Machine names its claimant, as <name>/<UID>.
	ClaimAnnotation = "karpenter.k8s.linode/claim"
)
