package account

import "github.com/karpenter-linode/karpenter-linode/modules/linode/api"

// ClusterSpec describes a cluster to make.
type ClusterSpec struct {
	Label                  string
	Region                 string // "" = us-ord
	Tier                   string // "" = standard
	K8sVersion             string // "" = the tier's newest
	Tags                   []string
	Pools                  []PoolSpec
	HighAvailability       bool // Standard; Enterprise always has it
	AuditLogs, AppPlatform bool
	ACL                    *api.LKEControlPlaneACL // nil = none
	StackType              string                  // Enterprise; "" = left out
	VPCID, SubnetID        int                     // Enterprise; 0 = left out
	Settled                bool                    // true: its nodes have joined already; false: they join after the profile's delays
}

// PoolSpec describes a pool to make. A nil or zero field is left out.
type PoolSpec struct {
	Type           string
	Count          int
	Label          string
	Labels         map[string]string
	Taints         []Taint
	Tags           []string
	Disks          []api.LKEPoolDisk
	Autoscaler     *api.LKEAutoscaler
	DiskEncryption string
	FirewallID     *int
	K8sVersion     string
	UpdateStrategy string
	Isolation      *api.LKEIsolation
}

// PoolEdit holds changes of a pool, in the API's form.
type PoolEdit = api.LKENodePoolUpdate

// InstanceSpec describes a Linode to make that is no worker of LKE.
type InstanceSpec struct {
	Label  string // "" = made up
	Type   string
	Region string // "" = us-ord
	Image  string // "" = none: it stays off
	Tags   []string
	// PrivateIP adds an address in 192.168.128.0/17.
	PrivateIP bool
	// SubnetID puts it into a VPC, with a public address by NAT 1:1; 0 = it has a public interface.
	SubnetID int
}

// FirewallSpec describes a firewall to make. Without policies it accepts everything.
type FirewallSpec struct {
	Label                         string // "" = made up
	Tags                          []string
	Disabled                      bool
	InboundPolicy, OutboundPolicy string
	Default                       bool // of new Linodes, NodeBalancers and interfaces of the account
}
