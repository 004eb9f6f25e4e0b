package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EvictionThreshold is a share ("5%") or an amount ("100Mi") of what its key names. A type of its own bounds its
// length, without which the API server takes the rules on it for too costly.
//
// +kubebuilder:validation:MaxLength=32
type EvictionThreshold string

// KubeletConfiguration is the part of the kubelet's configuration that a class sets. Names and meanings are the
// kubelet's own.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podsPerCore) || !has(self.maxPods) || self.podsPerCore <= self.maxPods",message="podsPerCore must not be above maxPods"
// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be above imageGCLowThresholdPercent"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoft) || (has(self.evictionSoftGracePeriod) && self.evictionSoft.all(key, key in self.evictionSoftGracePeriod))",message="each key of evictionSoft needs one in evictionSoftGracePeriod"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoftGracePeriod) || (has(self.evictionSoft) && self.evictionSoftGracePeriod.all(key, key in self.evictionSoft))",message="each key of evictionSoftGracePeriod needs one in evictionSoft"
type KubeletConfiguration struct {
	// ClusterDNS are the addresses of the cluster's DNS servers.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.all(address, isIP(address))",message="clusterDNS must be IP addresses"
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`

	// MaxPods is the largest number of pods on a node.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`

	// PodsPerCore is the largest number of pods for each vCPU, never above maxPods in total; 0 for no such bound.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`

	// SystemReserved is kept free for the operating system.
	// +kubebuilder:validation:MaxProperties=4
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="keys of systemReserved are cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(key, isQuantity(self[key]) && !quantity(self[key]).isLessThan(quantity('0')))",message="values of systemReserved are quantities, not below 0"
	// +optional
	SystemReserved map[string]string `json:"systemReserved,omitempty"`

	// KubeReserved is kept free for the kubelet and the container runtime.
	// +kubebuilder:validation:MaxProperties=4
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="keys of kubeReserved are cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(key, isQuantity(self[key]) && !quantity(self[key]).isLessThan(quantity('0')))",message="values of kubeReserved are quantities, not below 0"
	// +optional
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`

	// EvictionHard are thresholds below which the kubelet evicts pods at once.
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="keys of evictionHard are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([0-9]{1,2}([.][0-9]+)?|100([.]0+)?)%$') || (isQuantity(self[key]) && !quantity(self[key]).isLessThan(quantity('0'))))",message="values of evictionHard are percentages from 0% to 100% or quantities, not below 0"
	// +optional
	EvictionHard map[string]EvictionThreshold `json:"evictionHard,omitempty"`

	// EvictionSoft are thresholds below which the kubelet evicts pods after a grace period.
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="keys of evictionSoft are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([0-9]{1,2}([.][0-9]+)?|100([.]0+)?)%$') || (isQuantity(self[key]) && !quantity(self[key]).isLessThan(quantity('0'))))",message="values of evictionSoft are percentages from 0% to 100% or quantities, not below 0"
	// +optional
	EvictionSoft map[string]EvictionThreshold `json:"evictionSoft,omitempty"`

	// EvictionSoftGracePeriod is the grace period of each key of evictionSoft.
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, duration(self[key]) > duration('0s'))",message="values of evictionSoftGracePeriod are durations above 0"
	// +optional
	EvictionSoftGracePeriod map[string]metav1.Duration `json:"evictionSoftGracePeriod,omitempty"`

	// EvictionMaxPodGracePeriod bounds the termination grace period of a pod in a soft eviction, in seconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`

	// ImageGCHighThresholdPercent is the disk usage above which images are always collected.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`

	// ImageGCLowThresholdPercent is the disk usage below which images are never collected.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`

	// CPUCFSQuota enforces the CPU limits of containers by CFS quotas.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}
