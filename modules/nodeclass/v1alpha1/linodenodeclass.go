package v1alpha1

import (
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultImage is the image of a Linode in instance mode when the class names none.
const DefaultImage = PublicImagePrefix + "ubuntu22.04"

// PublicImagePrefix begins the IDs of the images that Linode publishes for all accounts. None contains Kubernetes.
const PublicImagePrefix = "linode/"

// LinodeNodeClass defines how the Linodes of a NodePool are made. A NodePool names it in
// spec.template.spec.nodeClassRef: group karpenter.k8s.linode, kind LinodeNodeClass. Its name has at most 63
// characters, because nodes carry it as the value of a label.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=linodenodeclasses,scope=Cluster,shortName={lnc,lncs},categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether nodes can be made from this class"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why the class is ready or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`,priority=1,description="Kubernetes version of new nodes"
// +kubebuilder:printcolumn:name="Firewall",type=integer,JSONPath=`.status.firewall.id`,priority=1,description="Cloud Firewall of new nodes"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What is wrong with the class, and what to do"
// +kubebuilder:printcolumn:name="Refused",type=string,JSONPath=`.status.conditions[?(@.type=="LaunchesAccepted")].message`,priority=1,description="Why the Linode API refuses what is launched from the class"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="a name has at most 63 characters, because nodes carry it as the value of a label",messageExpression="'metadata.name is ' + self.metadata.name + ': at most 63 characters are possible, because nodes carry it as the value of a label'"
type LinodeNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the settings of a user; an empty one is complete. On LKE these fields have an effect: tags, firewallID, lkeK8sVersion,
	// diskEncryption, isolation, and the fields of kubelet from which the capacity of a node is estimated.
	// +kubebuilder:default={}
	// +optional
	Spec LinodeNodeClassSpec `json:"spec,omitempty"`
	// Status has the findings of the controller.
	// +optional
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

// Isolation determines which public addresses nodes have. LKE decides about a field that is not set.
//
// +kubebuilder:validation:MinProperties=1
type Isolation struct {
	// PublicIPv4 is whether nodes have a public IPv4 address.
	// +optional
	PublicIPv4 *bool `json:"publicIPv4,omitempty"`
	// PublicIPv6 is whether nodes have a public IPv6 address.
	// +optional
	PublicIPv6 *bool `json:"publicIPv6,omitempty"`
}

// LinodeNodeClassSpec has the settings of a user. All fields are optional.
//
// Fields marked "(no effect in lke mode)" are for instance mode, because LKE makes its nodes from its own image and
// settings. In lke mode the API server accepts these fields, the condition ValidationSucceeded names them, and a change
// replaces no node. Fields marked "lke mode" are for nodes of LKE node pools; fields marked "both modes" are for all nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.image) || !has(self.imageSelector)",message="image and imageSelector exclude each other; set one of them",fieldPath=".imageSelector"
// +kubebuilder:validation:XValidation:rule="!has(self.placementGroup) || !has(self.placementGroups)",message="placementGroup and placementGroups exclude each other; set one of them",fieldPath=".placementGroups"
// +kubebuilder:validation:XValidation:rule="!has(self.subnetID) || has(self.vpcID)",message="subnetID needs the vpcID of its VPC",fieldPath=".subnetID"
// +kubebuilder:validation:XValidation:rule="!has(self.interfaces) || has(self.vpcID) || !self.interfaces.exists(i, i.type == 'vpc')",message="interfaces of the type vpc need vpcID and subnetID",fieldPath=".interfaces"
// +kubebuilder:validation:XValidation:rule="!has(self.ipv6Options) || !has(self.ipv6Options.enableRanges) || has(self.vpcID) && (!has(self.interfaces) || self.interfaces.size() == 0 || self.interfaces.exists(i, i.type == 'vpc')) || self.ipv6Options.enableRanges.all(r, r in ['/56', '/64'])",message="a public interface takes ranges of /56 and /64; those of other lengths need an interface in a VPC",fieldPath=".ipv6Options.enableRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.swapSize) || !has(self.swap_size)",message="swapSize and swap_size are two names of one field; set swapSize alone",fieldPath=".swap_size"
type LinodeNodeClassSpec struct {
	// Tags are on each instance, in addition to the tags that the provider manages (both modes). A change is made on
	// the running instances and replaces no node. Tags that another client has put on an instance stay.
	// A tag has 3 to 50 characters, exactly as it is written here. Its key, the part before the first "=", must not
	// be a key that Karpenter, this provider or LKE manages: any under
	// karpenter.sh/ or karpenter.k8s.linode/, kubernetes.io/cluster/..., lke-cluster-name, nodepool, lke<number>.
	// Example: ["team=payments", "production"].
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=50
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^[^\s\p{C}]([^\p{C}]*[^\s\p{C}])?$')`,message="a tag has no spaces at its ends and no control characters"
	// +kubebuilder:validation:items:XValidation:rule=`!self.matches(r'(?i)^\s*((nodepool|lke-cluster-name|lke[0-9]+)\s*(=|$)|kubernetes\.io/cluster/|([^=/]*\.)?(karpenter\.sh|karpenter\.k8s\.linode)/)')`,message="a tag must not have a key that Karpenter, this provider or LKE manages: karpenter.sh/..., karpenter.k8s.linode/..., kubernetes.io/cluster/..., lke-cluster-name, nodepool, lke<number>"
	// +listType=set
	// +optional
	Tags []string `json:"tags,omitempty" modes:"lke,instance" inplace:"lke,instance"`

	// FirewallID is the ID of the Cloud Firewall that protects the instances (both modes). It must exist; without it, Linode's own
	// default applies. In lke mode it needs the Enterprise tier, because node pools of the Standard tier take no firewall. A change
	// replaces the nodes. In instance mode the operator puts a Linode back that a user took out of the firewall. If the Linode API
	// refuses this, the node is replaced. Example: 12345.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FirewallID *int `json:"firewallID,omitempty" modes:"lke,instance"`

	// LKEK8sVersion pins the Kubernetes version of the nodes (lke mode, Enterprise tier only): it must equal the version of the control
	// plane, and no node is made while it does not. Without it, nodes get the version of the control plane. After an upgrade of the
	// control plane, nodes of an older version drift, and nodes of new pools replace them as soon as the class is ready. LKE itself
	// upgrades only pools of at least 3 nodes in place (v1.33 and later; 2 for v1.32). Example: v1.33.6+lke7.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^v?[0-9]+\.[0-9]+(\.[0-9]+)?(\+lke[0-9]+)?$')`,message="lkeK8sVersion must look like v1.33.6+lke7"
	// +optional
	LKEK8sVersion string `json:"lkeK8sVersion,omitempty" modes:"lke" inplace:"lke"`

	// DiskEncryption is whether the local disks are encrypted at rest: enabled or disabled (both modes).
	// Without it, Linode decides. A change replaces the nodes.
	// +optional
	DiskEncryption DiskEncryption `json:"diskEncryption,omitempty" modes:"lke,instance"`

	// Isolation takes public addresses away from the nodes (lke mode, Enterprise only: in a Standard cluster the class
	// is not Ready). It is in limited availability: an account without access gets no node, and the NodeClaim's
	// condition Launched names the field. A change replaces the nodes.
	// +optional
	Isolation *Isolation `json:"isolation,omitempty" modes:"lke"`

	// (no effect in lke mode) MachineDeploymentSelector selects the MachineDeployments from which nodes are made, by their labels
	// (clusterapi mode only). Only deployments of the operator's cluster with the label karpenter.k8s.linode/enabled: "true" count; without
	// a selector, all of these. The nodes of a deployment that is no longer selected are replaced. Other fields of a class have no effect in
	// clusterapi mode, apart from kubelet, on which the estimate of a node's capacity rests: Machines are made from templates of Cluster API.
	// Example: {"matchLabels": {"pool": "general"}}.
	// +optional
	MachineDeploymentSelector *metav1.LabelSelector `json:"machineDeploymentSelector,omitempty" modes:"clusterapi" inplace:"clusterapi"`

	// (no effect in lke mode) Image is the ID of the instances' image: linode/... is a public image, private/... an image
	// of the account, and shared/... an image that is shared with the account. It must be available and support
	// cloud-init. Default: linode/ubuntu22.04. Example: private/12345.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(linode|private|shared)/[A-Za-z0-9._-]+$')`,message="image must look like linode/ubuntu24.04, private/12345 or shared/12345"
	// +optional
	Image string `json:"image,omitempty"`

	// (no effect in lke mode) ImageSelector chooses the newest image whose label matches a pattern, instead of image. The image that
	// was found is in status.images.
	// +optional
	ImageSelector *ImageSelector `json:"imageSelector,omitempty" inplace:"instance"`

	// (no effect in lke mode) ImageDriftPolicy decides whether nodes are replaced when imageSelector finds another image for new nodes:
	// Ignore or Replace. Default: Ignore.
	// +optional
	ImageDriftPolicy ImageDriftPolicy `json:"imageDriftPolicy,omitempty" inplace:"instance"`

	// (no effect in lke mode) Bootstrap determines how the Linodes join the cluster. Default: with kubeadm.
	// +optional
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`

	// (no effect in lke mode) AuthorizedKeys are SSH public keys that may log in as root, each one line as in
	// authorized_keys. Example: ["ssh-ed25519 AAAAC3Nz... me@example.com"].
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=16384
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^(ssh|ecdsa|sk)-[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*( [^\r\n]*)?$')`,message="each of authorizedKeys must be one line as in authorized_keys, for example ssh-ed25519 AAAAC3Nz... me@example.com"
	// +listType=set
	// +optional
	AuthorizedKeys []string `json:"authorizedKeys,omitempty"`

	// (no effect in lke mode) AuthorizedUsers are names of Linode users whose SSH keys may log in as root.
	// Example: ["alice"].
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^[A-Za-z0-9._-]+$')`,message="each of authorizedUsers must be the name of a Linode user: letters, digits, '.', '_' and '-'"
	// +listType=set
	// +optional
	AuthorizedUsers []string `json:"authorizedUsers,omitempty"`

	// (no effect in lke mode) BackupsEnabled buys Linode's backup service for each instance. Without it, the account's
	// setting decides.
	// +optional
	BackupsEnabled *bool `json:"backupsEnabled,omitempty"`

	// (no effect in lke mode) SwapSize is the size of the swap disk in MiB, 0 for none. With swap the kubelet gets
	// failSwapOn: false, without which it does not start. Default: 0. Example: 1024.
	// +kubebuilder:validation:Minimum=0
	// +optional
	SwapSize *int `json:"swapSize,omitempty"`

	// (no effect in lke mode) The name that swapSize has in the schema of the alpha provider, in MiB. It is read so that the
	// manifests of that provider apply as they are; set swapSize instead, and not both.
	// +kubebuilder:validation:Minimum=0
	// +optional
	SwapSizeAlpha *int `json:"swap_size,omitempty"`

	// (no effect in lke mode) PlacementGroup puts the instances into a placement group, which must be in the region that
	// nodes are made in.
	// +optional
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty"`

	// (no effect in lke mode) PlacementGroups are several placement groups, which are filled one after another. A group that has as many
	// members as its region allows gets no more. Set either this field or placementGroup.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=id
	// +optional
	PlacementGroups []PlacementGroup `json:"placementGroups,omitempty"`

	// (no effect in lke mode) VPCID is the ID of the VPC that the instances join; it needs subnetID. Example: 4711.
	// +kubebuilder:validation:Minimum=1
	// +optional
	VPCID *int `json:"vpcID,omitempty"`

	// (no effect in lke mode) SubnetID is the ID of the subnet of the VPC. Example: 815.
	// +kubebuilder:validation:Minimum=1
	// +optional
	SubnetID *int `json:"subnetID,omitempty"`

	// (no effect in lke mode) Interfaces are the network interfaces, at most three. Default: one in the VPC with NAT 1:1 where
	// vpcID is set, else one public interface. Example: [{type: public}, {type: vpc, primary: true}].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self.filter(i, i.type == 'public').size() <= 1",message="an instance has at most one public interface"
	// +kubebuilder:validation:XValidation:rule="self.filter(i, has(i.primary) && i.primary).size() <= 1",message="at most one interface is the primary one"
	// +optional
	Interfaces []Interface `json:"interfaces,omitempty"`

	// (no effect in lke mode) PrivateIP gives each instance an address in 192.168.128.0/17. NodeBalancers reach the instance by this
	// address, and it is the node's InternalIP. Only legacy interfaces can have such an address: with true the instances get legacy
	// interfaces, if the account still allows them. Default: true for an instance without an interface in a VPC, if the account's new
	// instances have legacy interfaces.
	// +optional
	PrivateIP *bool `json:"privateIP,omitempty"`

	// (no effect in lke mode) MaintenancePolicy decides what Linode does with an instance during maintenance of its host: linode/migrate
	// or linode/power_off_on. Without it, the account's setting decides.
	// +kubebuilder:validation:Enum={"linode/migrate","linode/power_off_on"}
	// +optional
	MaintenancePolicy string `json:"maintenancePolicy,omitempty"`

	// (no effect in lke mode) IPv6Options sets the IPv6 addresses of the interface in the VPC, whose subnet must have an IPv6 network.
	// For an instance without such an interface it sets the ranges of the public interface, which always has an address by SLAAC.
	// +optional
	IPv6Options *IPv6Options `json:"ipv6Options,omitempty"`

	// (no effect in lke mode) OSDisk is the root disk. Without it, the root disk takes what swap leaves of the plan's disk. A
	// class with data disks needs it.
	// +kubebuilder:validation:XValidation:rule="!has(self.filesystem) || !(self.filesystem in ['swap', 'initrd'])",message="nothing boots from a disk of swap or initrd; use ext4, ext3 or raw",messageExpression="'osDisk.filesystem is ' + self.filesystem + ', from which nothing boots; use ext4, ext3 or raw'"
	// +optional
	OSDisk *Disk `json:"osDisk,omitempty"`

	// (no effect in lke mode) DataDisks are further disks by device name. Together with the root disk and swap they must
	// fit the plan's disk. Example: {sdb: {size: 20Gi, filesystem: ext4}}.
	// +optional
	DataDisks *DataDisks `json:"dataDisks,omitempty"`

	// (no effect in lke mode) Configuration is the configuration profile of the instances.
	// +optional
	Configuration *Configuration `json:"configuration,omitempty"`

	// Kubelet configures the kubelet (instance mode). In both modes the operator uses the reserved resources and the hard eviction
	// thresholds to estimate the capacity of a node before the node exists. LKE configures the kubelets of its nodes, so in lke mode set
	// the figures that LKE uses; a change of them replaces no node.
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty" modes:"lke,instance,clusterapi" inplace:"lke,clusterapi"`
}

// Configuration is the configuration profile of an instance.
type Configuration struct {
	// Kernel is the ID of the kernel that the instance boots. Default: the image's own. Example:
	// linode/grub2, which boots the kernel on the disk.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^linode/[A-Za-z0-9._-]+$')`,message="kernel must look like linode/grub2 or linode/latest-64bit"
	// +optional
	Kernel string `json:"kernel,omitempty"`
}

// LinodeNodeClassStatus has the findings of the controller.
type LinodeNodeClassStatus struct {
	// KubernetesVersion is the version of nodes made from the class now, which is the control plane's. It is empty while that version is
	// not known, or while lkeK8sVersion names another version. Example: v1.33.6+lke7, on LKE Standard 1.35.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Firewall is the Cloud Firewall of the spec, as found. Empty when the spec names none, or none was found.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`
	// Images are the images of nodes made from the class now (instance mode).
	// +optional
	Images []Image `json:"images,omitempty"`
	// Conditions are Ready and one condition for each dependency: ValidationSucceeded, KubernetesVersionReady, FirewallReady, and in
	// instance mode BootstrapReady, RegionReady, ImageReady, NetworkReady and PlacementGroupReady. Two further conditions are absent or
	// False. LaunchesAccepted is False while the Linode API refuses launches from the class. KubernetesVersionProvided is False while new
	// nodes of a class with ClusterMinor join with another minor version than the control plane has.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}

// Firewall is a Cloud Firewall that was found.
type Firewall struct {
	// ID of the firewall.
	ID int `json:"id"`
	// Label is the firewall's name at Linode.
	// +optional
	Label string `json:"label,omitempty"`
}

// Image is an image that was found.
type Image struct {
	// ID of the image, such as linode/ubuntu22.04.
	ID string `json:"id"`
	// Label is the image's name at Linode.
	// +optional
	Label string `json:"label,omitempty"`
}
