package v1alpha1

import "slices"

// InterfaceType names the network that an interface connects to.
//
// +kubebuilder:validation:Enum={public,vpc}
type InterfaceType string

// Values of InterfaceType.
const (
	InterfacePublic InterfaceType = "public"
	InterfaceVPC    InterfaceType = "vpc"
)

// Interface is one network interface of an instance.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'vpc' || !has(self.subnetID) && !has(self.nat)",message="subnetID and nat are of interfaces of the type vpc",fieldPath=".type"
type Interface struct {
	// Type is public or vpc.
	Type InterfaceType `json:"type"`
	// SubnetID is the subnet of a vpc interface. Default: spec.subnetID.
	// +kubebuilder:validation:Minimum=1
	// +optional
	SubnetID *int `json:"subnetID,omitempty"`
	// NAT maps a public address 1:1 to the address in the VPC. A Linode with neither NAT nor a public interface may not reach the
	// Metadata service, from which it gets the data to join. Default: true for a vpc interface if the Linode has no public interface.
	// +optional
	NAT *bool `json:"nat,omitempty"`
	// Primary is the interface with the default route. Default: the vpc interface, else the first.
	// +optional
	Primary *bool `json:"primary,omitempty"`
}

// ImageSelector chooses an image by its label.
type ImageSelector struct {
	// Label is a pattern of labels of images, with * for any text. The newest available image that it matches is used.
	// Example: kubernetes-1.35-*.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Label string `json:"label"`
}

// ImageDriftPolicy decides about nodes with another image than new nodes get.
//
// +kubebuilder:validation:Enum={Ignore,Replace}
type ImageDriftPolicy string

// Values of ImageDriftPolicy.
const (
	ImageDriftIgnore  ImageDriftPolicy = "Ignore"
	ImageDriftReplace ImageDriftPolicy = "Replace"
)

// Groups returns the placement groups of the class in the order in which they are filled.
func (in *LinodeNodeClassSpec) Groups() []PlacementGroup {
	if in.PlacementGroup != nil {
		return []PlacementGroup{*in.PlacementGroup}
	}
	return in.PlacementGroups
}

// PlacementGroup refers to a placement group.
type PlacementGroup struct {
	// ID of the placement group. Example: 528.
	// +kubebuilder:validation:Minimum=1
	ID int `json:"id"`
	// CompliantOnly refuses an instance that would violate the group's policy. With false, Linode makes such an instance. Default: the
	// policy of the group decides.
	// +optional
	CompliantOnly *bool `json:"compliant_only,omitempty"`
}

// ConnectsVPC returns whether an instance of the class gets an interface in a VPC.
func (in *LinodeNodeClassSpec) ConnectsVPC() bool {
	return in.VPCID != nil && (len(in.Interfaces) == 0 ||
		slices.ContainsFunc(in.Interfaces, func(i Interface) bool { return i.Type == InterfaceVPC }))
}

// WantsPrivateIP returns whether an instance of the class should have an address in 192.168.128.0/17. If the class does not set
// privateIP, an instance without an interface in a VPC should have one.
func (in *LinodeNodeClassSpec) WantsPrivateIP() bool {
	if in.PrivateIP != nil {
		return *in.PrivateIP
	}
	return !in.ConnectsVPC()
}

// IPv6InVPC returns the IPv6 options of an instance's interface in the VPC. It returns nil if there is no such interface, or if the
// options request neither SLAAC nor ranges.
func (in *LinodeNodeClassSpec) IPv6InVPC() *IPv6Options {
	options := in.IPv6Options
	if options == nil || !in.ConnectsVPC() || len(options.EnableRanges) == 0 && (options.EnableSLAAC == nil || !*options.EnableSLAAC) {
		return nil
	}
	return options
}

// IPv6OnPublic returns the ranges of an instance's public interface. It returns nothing if the instance has an interface in a VPC, which
// then has the ranges.
func (in *LinodeNodeClassSpec) IPv6OnPublic() []string {
	if in.IPv6Options == nil || in.ConnectsVPC() {
		return nil
	}
	return in.IPv6Options.EnableRanges
}

// IPv6Options sets the IPv6 addresses of an instance's interface in the VPC. For an instance without such an interface it sets the ranges
// of the public interface.
type IPv6Options struct {
	// EnableSLAAC gives the interface in the VPC an address by SLAAC, from a /64 of the subnet's network.
	// +optional
	EnableSLAAC *bool `json:"enableSLAAC,omitempty"`
	// EnableRanges are the prefix lengths of the ranges that are routed to the interface, one range for each. An instance without an
	// interface in a VPC gets them on its public interface: each is /56 or /64, and the account's new Linodes must have Linode
	// interfaces. An account gets one public range in a region unless Linode's support raises the limit. Example: ["/64"].
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^/([1-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$')`,message="each of enableRanges must be a prefix length from /1 to /128, for example /64"
	// +optional
	EnableRanges []string `json:"enableRanges,omitempty"`
	// IsPublicIPv6 lets the addresses in the VPC be reached from the internet. Default: Linode's.
	// +optional
	IsPublicIPv6 *bool `json:"isPublicIPv6,omitempty"`
}
