package linodesim

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// Node states as the API names them: the platform's own progress, not the
// Kubernetes Ready condition.
const (
	NotReady = world.NotReady
	Ready    = world.Ready
)

// Instance states in use here, of the API's longer list.
const (
	StatusOffline      = world.StatusOffline
	StatusProvisioning = world.StatusProvisioning
	StatusBooting      = world.StatusBooting
	StatusRunning      = world.StatusRunning
	StatusDeleting     = world.StatusDeleting
	StatusShuttingDown = world.StatusShuttingDown
	StatusRebooting    = world.StatusRebooting
)

// State is a deep copy of the account at one moment.
type State struct {
	At        time.Time
	Clusters  []ClusterInfo // by ID
	Instances []Instance    // all, workers included, by ID
}

// ClusterInfo is an LKE cluster with its pools by ID.
type ClusterInfo struct {
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
	Reachable        time.Time // from when on its kubeconfig can be had
	ACL              api.LKEControlPlaneACL
	KubeconfigSerial int // counts the kubeconfigs that were made after the first
	TokenSerial      int // and the service tokens
}

// ClusterNetwork holds the network that an Enterprise cluster was requested with;
// zero values were left out.
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

// Name is the Linode's label and the Kubernetes Node's name.
func (n Node) Name() string { return world.NodeName(n.ClusterID, n.ID) }

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

// Worker identifies the LKE node that a Linode is.
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

// Network holds the addresses of a Linode and their protection.
type Network struct {
	PublicIPv4  string
	MoreIPv4    []string // public ones
	SharedIPv4  []string // of other Linodes
	PrivateIPv4 string   // "" = none
	IPv6        string
	Generation  string // of its interfaces: legacy_config or linode; "" = legacy_config
	FirewallID  int    // 0 = none; of an interface, where they are protected one by one
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
