package v1alpha1

import (
	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultImage is the image of a Linode in instance mode when the class names none.
const DefaultImage = "linode/ubuntu22.04"

// LinodeNodeClass says how the Linodes of a NodePool are made.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=linodenodeclasses,scope=Cluster,shortName={lnc,lncs},categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether nodes can be made from this class"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`,priority=1,description="Kubernetes version of new nodes"
// +kubebuilder:printcolumn:name="Firewall",type=integer,JSONPath=`.spec.firewallID`,priority=1,description="Cloud Firewall of new nodes"
type LinodeNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
	// +optional
	Spec   LinodeNodeClassSpec   `json:"spec,omitempty"`
	Status LinodeNodeClassStatus `json:"status,omitempty"`
}

// LinodeNodeClassList is a list of LinodeNodeClass.
//
// +kubebuilder:object:root=true
type LinodeNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LinodeNodeClass `json:"items"`
}

// DiskEncryption is whether the local disks of a Linode are encrypted at rest.
//
// +kubebuilder:validation:Enum={enabled,disabled}
type DiskEncryption string

// Values of DiskEncryption.
const (
	DiskEncryptionEnabled  DiskEncryption = "enabled"
	DiskEncryptionDisabled DiskEncryption = "disabled"
)

// LinodeNodeClassSpec is what a user sets. Fields marked "instance mode" have no effect on LKE nodes, which LKE
// makes from an image and settings of its own.
type LinodeNodeClassSpec struct {
	// Tags are put on each instance, beside the tags the provider manages, and changed there in place. A tag has
	// 3 to 50 characters. Keys that the provider, Karpenter or LKE manages make the class not Ready.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=50
	// +kubebuilder:validation:XValidation:rule="self.all(tag, tag.matches('^[^\\\\s\\\\p{C}]([^\\\\p{C}]*[^\\\\s\\\\p{C}])?$'))",message="a tag has no spaces at its ends and no control characters"
	// +listType=set
	// +optional
	Tags []string `json:"tags,omitempty" hash:"ignore"`

	// FirewallID is the ID of the Cloud Firewall that protects the instances. In lke mode it needs the
	// Enterprise tier, because node pools of the Standard tier take no firewall.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FirewallID *int `json:"firewallID,omitempty"`

	// LKEK8sVersion is the Kubernetes version of the nodes, for example v1.33.6+lke7. lke mode, Enterprise tier
	// only: it must equal the version of the control plane. Without it, nodes get the control plane's version.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v?[0-9]+\.[0-9]+(\.[0-9]+)?(\+lke[0-9]+)?$`
	// +optional
	LKEK8sVersion string `json:"lkeK8sVersion,omitempty"`

	// DiskEncryption says whether the local disks are encrypted. Without it, Linode decides.
	// +optional
	DiskEncryption DiskEncryption `json:"diskEncryption,omitempty"`

	// Image is the image of the instances (instance mode). It must support cloud-init.
	// +kubebuilder:default="linode/ubuntu22.04"
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^(linode|private|shared)/[A-Za-z0-9._-]+$`
	// +optional
	Image string `json:"image,omitempty"`

	// AuthorizedKeys are SSH public keys that may log in as root (instance mode).
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=16384
	// +kubebuilder:validation:items:Pattern=`^(ssh|ecdsa|sk)-[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*( [^\r\n]*)?$`
	// +listType=set
	// +optional
	AuthorizedKeys []string `json:"authorizedKeys,omitempty"`

	// AuthorizedUsers are Linode users whose SSH keys may log in as root (instance mode).
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9._-]+$`
	// +listType=set
	// +optional
	AuthorizedUsers []string `json:"authorizedUsers,omitempty"`

	// BackupsEnabled buys Linode's backup service for each instance (instance mode).
	// +optional
	BackupsEnabled *bool `json:"backupsEnabled,omitempty"`

	// SwapSize is the size of the swap disk in MiB; 0 for none (instance mode).
	// +kubebuilder:validation:Minimum=0
	// +optional
	SwapSize *int `json:"swapSize,omitempty"`

	// PlacementGroup puts the instances into a placement group (instance mode).
	// +optional
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty"`

	// VPCID is the VPC the instances join (instance mode).
	// +kubebuilder:validation:Minimum=1
	// +optional
	VPCID *int `json:"vpcID,omitempty"`

	// IPv6Options sets the IPv6 addresses of the interface (instance mode).
	// +optional
	IPv6Options *IPv6Options `json:"ipv6Options,omitempty"`

	// OSDisk is the root disk; without it, it takes what the data disks and swap leave (instance mode).
	// +optional
	OSDisk *Disk `json:"osDisk,omitempty"`

	// DataDisks are further disks by device name. Together with the root disk and swap they must fit the
	// plan's disk (instance mode).
	// +optional
	DataDisks *DataDisks `json:"dataDisks,omitempty"`

	// Configuration is the configuration profile of the instances (instance mode).
	// +optional
	Configuration *Configuration `json:"configuration,omitempty"`

	// Kubelet configures the kubelet (instance mode). In both modes maxPods, podsPerCore, the reserved resources
	// and the hard eviction thresholds count when a node's capacity is estimated.
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
}

// PlacementGroup refers to a placement group.
type PlacementGroup struct {
	// ID of the placement group.
	// +kubebuilder:validation:Minimum=1
	ID int `json:"id"`
	// CompliantOnly refuses an instance for which the group cannot be kept, instead of making it all the same.
	// +optional
	CompliantOnly *bool `json:"compliant_only,omitempty"`
}

// IPv6Options sets the IPv6 addresses of an instance's interface.
type IPv6Options struct {
	// EnableSLAAC gives the interface an address by SLAAC.
	// +optional
	EnableSLAAC *bool `json:"enableSLAAC,omitempty"`
	// EnableRanges are prefix lengths of the ranges routed to the interface, for example "/64".
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4
	// +kubebuilder:validation:items:Pattern=`^/[0-9]{1,3}$`
	// +optional
	EnableRanges []string `json:"enableRanges,omitempty"`
	// IsPublicIPv6 lets the addresses be reached from the internet.
	// +optional
	IsPublicIPv6 *bool `json:"isPublicIPv6,omitempty"`
}

// Disk is one disk of an instance.
type Disk struct {
	// Size of the disk, for example 20Gi.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self > 0 : (isQuantity(self) && quantity(self).isGreaterThan(quantity('0')))",message="size must be a quantity above 0, for example 20Gi"
	Size resource.Quantity `json:"size"`
	// Label is the disk's name; the device's name without it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +optional
	Label string `json:"label,omitempty"`
	// Filesystem of the disk.
	// +kubebuilder:validation:Enum={raw,swap,ext3,ext4,initrd}
	// +optional
	Filesystem string `json:"filesystem,omitempty"`
}

// DataDisks are the disks beside the root disk, by device. An instance has at most eight devices: the root disk
// is sda, so seven are left.
//
// +kubebuilder:validation:MinProperties=1
type DataDisks struct {
	// +optional
	SDB *Disk `json:"sdb,omitempty"`
	// +optional
	SDC *Disk `json:"sdc,omitempty"`
	// +optional
	SDD *Disk `json:"sdd,omitempty"`
	// +optional
	SDE *Disk `json:"sde,omitempty"`
	// +optional
	SDF *Disk `json:"sdf,omitempty"`
	// +optional
	SDG *Disk `json:"sdg,omitempty"`
	// +optional
	SDH *Disk `json:"sdh,omitempty"`
}

// Configuration is the configuration profile of an instance.
type Configuration struct {
	// Kernel is the ID of the kernel, for example linode/grub2.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Kernel string `json:"kernel,omitempty"`
}

// LinodeNodeClassStatus is what the controller found.
type LinodeNodeClassStatus struct {
	// KubernetesVersion is the version of nodes made from the class now.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Firewall is the Cloud Firewall of the spec, as found.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`
	// Images are the images of nodes made from the class now (instance mode).
	// +optional
	Images []Image `json:"images,omitempty"`
	// Conditions: Ready, and one for each thing it depends on.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}

// Firewall is a Cloud Firewall that was found.
type Firewall struct {
	ID int `json:"id"`
	// +optional
	Label string `json:"label,omitempty"`
}

// Image is an image that was found.
type Image struct {
	ID string `json:"id"`
	// +optional
	Label string `json:"label,omitempty"`
}
