package world

import (
	"maps"
	"slices"
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

// State is the whole world at one moment, a deep copy.
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
	Tier       string // catalog.Standard or catalog.Enterprise
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

// ClusterNetwork holds the network of an Enterprise cluster; zero values
// were left out.
type ClusterNetwork struct {
	StackType       string
	VPCID, SubnetID int
}

// Pool is a node pool with its nodes in the order of their requests.
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

// Worker is which node of LKE a Linode is.
type Worker struct {
	ClusterID int    // 0 = not a worker
	PoolID    int    // the API does not show it
	NodeID    string // the API does not show it
}

// Placement is the host that a Linode is on.
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

// Guest describes the system on a Linode that is no worker.
type Guest struct {
	Console     string // the output of its last boot
	BootFault   string // why its last boot failed; "" = it did not
	HasUserData bool

	busyUntil time.Time // jobs are refused until then

	given    string              // label of a worker in a pool with a label; "" = the node's name
	userData string              // base64, as it was sent; the API shows only that there is some
	keys     map[string][]string // for SSH, by user
}

func (c Cluster) clone() Cluster {
	c.Tags = slices.Clone(c.Tags)
	return c
}

func (p Pool) clone() Pool {
	p.Disks = slices.Clone(p.Disks)
	p.Labels = maps.Clone(p.Labels)
	p.Taints = slices.Clone(p.Taints)
	p.Tags = slices.Clone(p.Tags)
	if p.FirewallID != nil {
		id := *p.FirewallID
		p.FirewallID = &id
	}
	return p
}

func (i *Instance) clone() Instance {
	out := *i
	out.Tags = slices.Clone(i.Tags)
	return out
}
