package instances

import "github.com/karpenter-linode/karpenter-linode/modules/claims"

// Spec describes one instance. Claimant, InstanceType, Region and Image are required.
// Where another field is zero, the platform chooses its value.
type Spec struct {
	// Claimant identifies the instance: another call for it returns the same instance.
	Claimant claims.Claimant
	// InstanceType is the plan, for example "g6-standard-2".
	InstanceType string
	Region       string
	// Image is for example "linode/ubuntu24.04".
	Image string
	// Kernel is for example "linode/direct-disk"; "" leaves the choice to the platform.
	Kernel   string
	UserData UserData
	Access   Access
	// Tags are added to the engine's tags.
	Tags           []string
	Network        Network
	PlacementGroup PlacementGroup
	Storage        Storage
	Backups        bool
	// MaintenancePolicy is "", "linode/migrate" or "linode/power_off_on".
	MaintenancePolicy string
}

// UserData contains the data that the instance reads from the Metadata service.
type UserData struct {
	Content []byte
	// Verbatim prevents compression, for readers that cannot unpack gzip. Cloud-init
	// can; Talos cannot.
	Verbatim bool
}

// Access configures logins. If it is empty, the engine sets a random password and does not
// keep it, because the image requires keys, users or a password.
type Access struct {
	// Keys contains SSH public keys for root, Users the users of the account whose keys
	// are added.
	Keys, Users []string
}

// Network configures the interfaces. The zero value means one public interface.
type Network struct {
	// FirewallID is the Cloud Firewall, 0 for the account's default.
	FirewallID int
	// Generation is GenerationLegacy, GenerationLinode, or "" for the account's default,
	// which requires that Interfaces is empty.
	Generation Generation
	Interfaces []Interface
	// PrivateIP adds an address in 192.168.128.0/17.
	PrivateIP bool
}

// Generation names a kind of network interfaces.
type Generation string

// The two generations, in the API's words.
const (
	GenerationLegacy Generation = "legacy_config"
	GenerationLinode Generation = "linode"
)

// Interface describes one network interface. Exactly one of Public, VPC and VLAN is set.
type Interface struct {
	Public bool
	// Ranges contains prefix lengths, "/56" or "/64", for public interfaces of
	// GenerationLinode. For each length one range of IPv6 is routed to the interface.
	Ranges []string
	VPC    *VPCInterface
	VLAN   *VLANInterface
	// Primary gives the interface the default route.
	Primary bool
}

// VPCInterface connects to a subnet of a VPC.
type VPCInterface struct {
	SubnetID int
	// Address is an address in the subnet, "" for any address.
	Address string
	// NAT adds a public address, mapped 1:1.
	NAT bool
	// IPv6 configures addresses in a subnet with IPv6; nil leaves them to the platform.
	IPv6 *VPCIPv6
}

// VPCIPv6 configures IPv6 of a VPC interface.
type VPCIPv6 struct {
	// SLAAC lets the host choose an address from the interface's own /64.
	SLAAC bool
	// Ranges contains prefix lengths such as "/64". For each length one range is routed
	// to the interface.
	Ranges []string
	// Public makes the addresses reachable from the internet; nil leaves the choice to
	// the platform.
	Public *bool
}

// VLANInterface connects to a VLAN.
type VLANInterface struct {
	Label string
	// Address has a prefix length; "" means none.
	Address string
}

// PlacementGroup places the instance in a group; the zero value means none.
type PlacementGroup struct {
	ID int
	// CompliantOnly refuses an instance that would violate the group's rule.
	CompliantOnly bool
}

// Storage configures the disks. The zero value means one disk of the whole plan and
// the platform's swap.
type Storage struct {
	// BootMB is the size of the boot disk, 0 for the rest of the plan. Data requires it.
	BootMB int
	// SwapMB is the size of the swap disk. nil means the platform's default of 512, 0 no swap disk.
	SwapMB *int
	// Encryption is "", "enabled" or "disabled".
	Encryption string
	// Data contains further disks in the order of their devices, from sdb or sdc.
	Data []Disk
}

// Disk describes a data disk.
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
