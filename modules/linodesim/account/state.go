package account

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Node states as the API names them: the platform's own progress, not the
// Kubernetes Ready condition.
const (
	NotReady = "not_ready"
	Ready    = "ready"
)

// Instance states in use here, of the API's longer list.
const (
	StatusOffline      = "offline"
	StatusProvisioning = "provisioning"
	StatusBooting      = "booting"
	StatusRunning      = "running"
	StatusDeleting     = "deleting"
	StatusShuttingDown = "shutting_down"
	StatusRebooting    = "rebooting"
)

// State is a deep copy of the account at one moment.
type State struct {
	At        time.Time
	Clusters  []Cluster  // by ID
	Instances []Instance // all, workers included, by ID
}

// Cluster is an LKE cluster with its pools by ID.
type Cluster struct {
	ID         int
	Label      string
	Region     string
	Tier       string // Standard or Enterprise
	K8sVersion string
	Tags       []string
	Lifecycle
	ControlPlane
	ClusterNetwork
	Pools []Pool
}

// Lifecycle holds when an object was made and last changed.
type Lifecycle struct{ Created, Updated time.Time }

// ControlPlane is a cluster's Kubernetes API, and the ways to it.
type ControlPlane struct {
	HighAvailability bool
	AuditLogs        bool // Enterprise
	AppPlatform      bool
	Reachable        time.Time // when its kubeconfig becomes available
	ACL              api.LKEControlPlaneACL
	KubeconfigSerial int // counts the kubeconfigs that were made after the first
	TokenSerial      int // counts the service tokens that were made after the first
}

// ClusterNetwork holds the network of an Enterprise cluster: the network that its
// request named, or the VPC that LKE made for it. Zero values: the cluster has no VPC.
type ClusterNetwork struct {
	StackType       string
	VPCID, SubnetID int
}

// Pool is a node pool with its nodes in the order in which they were requested.
type Pool struct {
	ID, ClusterID int
	Tier          string // of its cluster
	Type, Label   string
	Count         int
	Autoscaler    api.LKEAutoscaler // stored and never run
	PoolTemplate
	PoolVersion
	CreatedBy string // a token's user, or the program that prepared the state
	Created   time.Time
	Nodes     []Node
}

// PoolTemplate holds the settings that a pool's nodes are made with.
type PoolTemplate struct {
	Disks          []api.LKEPoolDisk
	Labels         map[string]string
	Taints         []Taint
	Tags           []string
	DiskEncryption string
	FirewallID     *int              // Enterprise
	Isolation      *api.LKEIsolation // a nil field was left out; then nodes have both addresses
}

// PoolVersion is the Kubernetes of an Enterprise pool's nodes.
type PoolVersion struct{ K8sVersion, UpdateStrategy string }

// Taint of a pool.
type Taint = api.LKETaint

// Node is one place in a pool.
type Node struct {
	ID                string // <pool id>-<12 hex digits>
	ClusterID, PoolID int
	Tier              string // of its cluster
	InstanceID        int    // 0 until a Linode has an ID
	Status            string
	Listed            bool // in the pool's nodes[]; false for a while on Enterprise
	Requested         time.Time
	InstanceAt        time.Time // when the Linode got its ID; zero before
	JoinedAt          time.Time // when it joined; zero before
}

// NodeName returns the name of a node in a pool without a label. Its Linode has this
// name as label.
func NodeName(clusterID int, nodeID string) string { return fmt.Sprintf("lke%d-%s", clusterID, nodeID) }

// Name is the Linode's label and the Kubernetes Node's name, in a pool without a label.
func (n Node) Name() string { return NodeName(n.ClusterID, n.ID) }

// Instance is a Linode.
type Instance struct {
	ID           int
	Label        string
	Type, Region string
	Status       string
	Image        string // "" = none
	Tags         []string
	Group        string // deprecated by the API
	Lifecycle
	Worker
	Placement
	Network
	Settings
	Guest
}

// Worker identifies the LKE node of a Linode.
type Worker struct {
	ClusterID int    // 0 = not a worker
	PoolID    int    // the API does not show it
	NodeID    string // the API does not show it
}

// Placement describes the host that a Linode is on.
type Placement struct {
	HostUUID          string
	PlacementGroup    int // 0 = none
	MaintenancePolicy string
	Maintenance       *HostMaintenance // nil = none
}

// HostMaintenance is work on the host of a Linode as the account's list shows
// it. Nothing happens to the Linode when its time comes.
type HostMaintenance struct {
	Type   string // such as reboot, cold_migration or live_migration
	Status string // pending, started or completed
	When   time.Time
	Reason string
}

// Network holds the addresses of a Linode and their protection.
type Network struct {
	PublicIPv4  string
	MoreIPv4    []string // public ones
	SharedIPv4  []string // of other Linodes
	PrivateIPv4 string   // "" = none
	IPv6        string
	Generation  string // of its interfaces: legacy_config or linode; "" = legacy_config
	FirewallID  int    // 0 = none; with interfaces of the generation linode, the firewall of one of them
}

// IPv4 lists the addresses, the public one first.
func (n Network) IPv4() []string {
	all := append([]string{n.PublicIPv4}, n.MoreIPv4...)
	if n.PrivateIPv4 != "" {
		all = append(all, n.PrivateIPv4)
	}
	return all
}

// Settings hold the switches of a Linode.
type Settings struct {
	DiskEncryption  string
	WatchdogEnabled bool
	Alerts          api.InstanceAlerts
	BackupsEnabled  bool
	BackupDay       string // "" = null
	BackupWindow    string // "" = null
}

// Guest describes the system on a Linode that is no worker of LKE.
type Guest struct {
	Console     string // the output of its last boot
	BootFault   string // why its last boot failed; "" = it did not
	HasUserData bool
}

// Floor is the platform's own share of a scale-up: no client can be quicker.
type Floor struct {
	Nodes   int           // nodes requested at or after the start
	Last    time.Time     // when the last of them becomes visible; zero without nodes
	Longest time.Duration // the longest time of a node from its request until it is visible
}
