package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// The values of maps have types of their own for two reasons: a type can bound the length, without which the API server refuses the rules
// on the value as too costly, and a refusal can name the value. Keys of maps cannot have such a type, so a refusal of a key lists the
// allowed keys.

// EvictionThreshold is a share ("5%") or an amount ("100Mi") of the resource that its key names.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,2}([.][0-9]+)?|100([.]0+)?)%$') || (isQuantity(self) && !quantity(self).isLessThan(quantity('0')))",message="must be a percentage from 0% to 100%, for example 5%, or a quantity not below 0, for example 100Mi"
type EvictionThreshold string

// EvictionGracePeriod is a duration above 0, such as 1m30s.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+$') && duration(self) > duration('0s')",message="must be a duration above 0, for example 1m30s"
type EvictionGracePeriod string

// ReservedQuantity is an amount, such as 100m or 100Mi.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="isQuantity(self) && !quantity(self).isLessThan(quantity('0'))",message="must be a quantity not below 0, for example 100m or 100Mi"
type ReservedQuantity string

// KubeletConfiguration is the part of the kubelet's configuration that a class sets (instance mode). Names and
// meanings are the kubelet's own, and so are the defaults of unset fields. Fields that count in both modes, for the
// estimate of a node's capacity, are marked.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podsPerCore) || !has(self.maxPods) || self.podsPerCore <= self.maxPods",message="podsPerCore must not be above maxPods",fieldPath=".podsPerCore"
// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be above imageGCLowThresholdPercent",fieldPath=".imageGCHighThresholdPercent"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoft) || self.evictionSoft.all(key, has(self.evictionSoftGracePeriod) && key in self.evictionSoftGracePeriod)",message="each key of evictionSoft needs one in evictionSoftGracePeriod",fieldPath=".evictionSoft"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(key, has(self.evictionSoft) && key in self.evictionSoft)",message="each key of evictionSoftGracePeriod needs one in evictionSoft",fieldPath=".evictionSoftGracePeriod"
type KubeletConfiguration struct {
	// (no effect in lke mode) ClusterDNS are the IP addresses of the cluster's DNS servers, at most three, the first one first.
	// Example: ["10.128.0.10"].
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="clusterDNS must be IP addresses"
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty" modes:"instance"`

	// (no effect in lke mode) MaxPods is the largest number of pods on a node. Default 110, as on LKE's nodes. Example: 110.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty" modes:"instance,clusterapi"`

	// (no effect in lke mode) PodsPerCore is the largest number of pods for each vCPU, never above maxPods in total; 0, the
	// default, for no such bound. Example: 20.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty" modes:"instance,clusterapi"`

	// SystemReserved is kept free for the operating system: quantities of cpu, memory, ephemeral-storage and pid.
	// Counts for capacity in both modes. Default: nothing. Example: {cpu: 100m, memory: 100Mi}.
	// +kubebuilder:validation:MaxProperties=4
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="keys of systemReserved are cpu, memory, ephemeral-storage and pid"
	// +optional
	SystemReserved map[string]ReservedQuantity `json:"systemReserved,omitempty"`

	// KubeReserved is kept free for the kubelet and the container runtime: quantities of cpu, memory,
	// ephemeral-storage and pid. Counts for capacity in both modes. Default: nothing. Example: {cpu: 50m}.
	// +kubebuilder:validation:MaxProperties=4
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="keys of kubeReserved are cpu, memory, ephemeral-storage and pid"
	// +optional
	KubeReserved map[string]ReservedQuantity `json:"kubeReserved,omitempty"`

	// EvictionHard are thresholds below which the kubelet evicts pods at once, by signal: memory.available,
	// nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available. A threshold is a
	// percentage of the whole or a quantity. Counts for capacity in both modes. Default: 100Mi of memory, 10% of
	// the disk. Example: {memory.available: 5%, nodefs.available: 10Gi}.
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="keys of evictionHard are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionHard map[string]EvictionThreshold `json:"evictionHard,omitempty"`

	// (no effect in lke mode) EvictionSoft are thresholds below which the kubelet evicts pods after a grace period. Each threshold needs
	// a grace period in evictionSoftGracePeriod. Signals and thresholds as in evictionHard. Default: none. Example: {memory.available:
	// 500Mi}.
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, key in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="keys of evictionSoft are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionSoft map[string]EvictionThreshold `json:"evictionSoft,omitempty" modes:"instance"`

	// (no effect in lke mode) EvictionSoftGracePeriod is how long each threshold of evictionSoft may be crossed, durations above 0.
	// Example: {memory.available: 1m30s}.
	// +kubebuilder:validation:MaxProperties=6
	// +optional
	EvictionSoftGracePeriod map[string]EvictionGracePeriod `json:"evictionSoftGracePeriod,omitempty" modes:"instance"`

	// (no effect in lke mode) EvictionMaxPodGracePeriod bounds the termination grace period of a pod in a soft eviction, in seconds.
	// Default 0: the pod's own grace period does not count. Example: 60.
	// +kubebuilder:validation:Minimum=0
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty" modes:"instance"`

	// (no effect in lke mode) ImageGCHighThresholdPercent is the disk usage in percent above which unused images are collected; above
	// imageGCLowThresholdPercent. Default 85.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty" modes:"instance"`

	// (no effect in lke mode) ImageGCLowThresholdPercent is the disk usage in percent down to which unused images are collected.
	// Default 80.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty" modes:"instance"`

	// (no effect in lke mode) CPUCFSQuota enforces the CPU limits of containers by CFS quotas. Default true.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty" modes:"instance"`

	// (no effect in lke mode) ExtraConfig has further fields of the kubelet's own configuration (KubeletConfiguration,
	// kubelet.config.k8s.io/v1beta1), which go to the kubelet without a change. The condition BootstrapReady names an unknown field,
	// a field with a value of the wrong type, a field that the class itself has, and a field that the operator sets.
	// Nodes that join with custom user data cannot have it. Example: {maxParallelImagePulls: 5, serializeImagePulls: false}.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	ExtraConfig map[string]apiextensionsv1.JSON `json:"extraConfig,omitempty" modes:"instance"`
}
