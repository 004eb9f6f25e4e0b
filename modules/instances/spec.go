package instances

import "github.com/karpenter-linode/karpenter-linode/modules/claims"

// Spec is what one instance is made of. Claimant, InstanceType, Region and Image are
// required; everything else may be left to the platform.
type Spec struct {
	// Claimant asking again gets the same instance.
	Claimant claims.Claimant
	// InstanceType is the plan, for example "g6-standard-2".
	InstanceType string
	Region       string
	// Image is for example "linode/ubuntu24.04".
	Image string
	// Kernel is for example "linode/direct-disk"; "" is the platform's choice.
	Kernel   string
	UserData UserData
	Access   Access
	// Tags are on the instance beside the engine's own.
	Tags           []string
	Network        Network
	PlacementGroup PlacementGroup
	Storage        Storage
	Backups        bool
	// MaintenancePolicy is "", "linode/migrate" or "linode/power_off_on".
	MaintenancePolicy string
}

// UserData is what the instance reads from the Metadata service.
type UserData struct {
	Content []byte
	// Verbatim: never compressed, because the reader takes no gzip. Cloud-init
	// does; a machine config of Talos has to be sent as it is.
	Verbatim bool
}

// Access is how to log in. Where it is empty a random password is set that
// is not known afterwards: the image needs one of the three.
type Access struct {
	// Keys are SSH public keys of root, Users those users of the account whose
	// keys root gets.
	Keys, Users []string
}

// Network is how the instance is connected. The zero value is one public interface.
type Network struct {
	// FirewallID is the Cloud Firewall, 0 for the account's default.
	FirewallID int
	// Generation of the interfaces: GenerationLegacy, GenerationLinode, or "" for
	// the account's default, with which Interfaces must be empty.
	Generation Generation
	Interfaces []Interface
	// PrivateIP: an address in 192.168.128.0/17 in addition.
	PrivateIP bool
}

// Generation is a kind of network interfaces.
type Generation string

// The two generations, in the API's words.
const (
	GenerationLegacy Generation = "legacy_config"
	GenerationLinode Generation = "linode"
)

// Interface is one network interface. Exactly one of Public, VPC and VLAN is set.
type Interface struct {
	Public bool
	// Ranges are prefix lengths, "/56" or "/64": one range of IPv6 of each is routed to a public interface of GenerationLinode.
	Ranges []string
	VPC    *VPCInterface
	VLAN   *VLANInterface
	// Primary: it has the default route.
	Primary bool
}

// VPCInterface connects to a subnet of a VPC.
type VPCInterface struct {
	SubnetID int
	// Address in the subnet, "" for any.
	Address string
	// NAT: it is reachable by a public address, 1:1.
	NAT bool
	// IPv6 are its addresses in a subnet that has IPv6; nil is what the platform gives.
	IPv6 *VPCIPv6
}

// VPCIPv6 is what a VPC interface has of IPv6.
type VPCIPv6 struct {
	// SLAAC: it configures an address by itself, from a /64 of its own.
	SLAAC bool
	// Ranges are prefix lengths such as "/64": one range of each is routed to it.
	Ranges []string
	// Public: the addresses can be reached from the internet; nil is the platform's choice.
	Public *bool
}

// VLANInterface connects to a VLAN.
type VLANInterface struct {
	Label string
	// Address with prefix length, "" for none.
	Address string
}

// PlacementGroup is where the instance is placed; the zero value is none.
type PlacementGroup struct {
	ID int
	// CompliantOnly: refused rather than placed against the group's rule.
	CompliantOnly bool
}

// Storage is the disks. The zero value is one disk of the whole plan, with the
// platform's swap.
type Storage struct {
	// BootMB is the size of the boot disk, 0 for what remains. With Data it is required.
	BootMB int
	// SwapMB is the size of the swap disk; nil is the platform's 512, 0 none.
	SwapMB *int
	// Encryption is "", "enabled" or "disabled".
	Encryption string
	// Data are further disks, as sdb or sdc and on, in this order.
	Data []Disk
}

// Disk is a data disk.
type Disk struct {
	// Label is unique in the instance.
	Label  string
	SizeMB int
	// Filesystem is "", "raw" or "ext4"; "" is "ext4".
	Filesystem string
}

// Instance represents a Linode, as the API showed it. Its Name is the Linode's label.
type Instance struct {
	claims.Node
	Image string
	IPv4  []string
	IPv6  string
	// PlacementGroup is the ID of the group, 0 for none.
	PlacementGroup int
	// Foreign instances belong to another owner, such as an LKE cluster, and must
	// not be modified.
	Foreign bool
}
