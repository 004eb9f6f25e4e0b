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
)

// State is the whole world at one moment, a deep copy.
type State struct {
	At        time.Time
	Clusters  []Cluster  // by ID
	Instances []Instance // all, workers included, by ID
}

// Cluster is an LKE cluster with its pools by ID.
type Cluster struct {
	ID               int
	Label            string
	Region           string
	Tier             string // catalog.Standard or catalog.Enterprise
	K8sVersion       string
	HighAvailability bool
	AuditLogs        bool // Enterprise
	AppPlatform      bool
	StackType        string // Enterprise; "" = not asked for
	VPCID, SubnetID  int    // Enterprise; 0 = not asked for
	Tags             []string
	Created, Updated time.Time
	Reachable        time.Time // from when on its kubeconfig can be had
	ACL              api.LKEControlPlaneACL
	KubeconfigSerial int // counts the kubeconfigs that were made after the first
	TokenSerial      int // and the service tokens
	Pools            []Pool
}

// Pool is a node pool with its nodes in the order in which they were asked for.
type Pool struct {
	ID, ClusterID  int
	Tier           string // of its cluster
	Type, Label    string
	Count          int
	Autoscaler     api.LKEAutoscaler // stored and never run
	Disks          []api.LKEPoolDisk
	Labels         map[string]string
	Taints         []Taint
	Tags           []string
	DiskEncryption string
	FirewallID     *int              // Enterprise
	K8sVersion     string            // Enterprise
	UpdateStrategy string            // Enterprise
	Isolation      *api.LKEIsolation // nil fields are as if left out, and nodes have both addresses then
	CreatedBy      string            // who asked for it: a token's user, or the program that prepared the state
	Created        time.Time
	Nodes          []Node
}

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
func (n Node) Name() string { return nodeName(n.ClusterID, n.ID) }

// Instance is a Linode.
type Instance struct {
	ID              int
	Label           string
	Type, Region    string
	Status          string
	Image           string // "" = none
	Tags            []string
	ClusterID       int    // 0 = not a worker
	PoolID          int    // workers only; the API does not show it
	NodeID          string // workers only; the API does not show it
	HostUUID        string
	PublicIPv4      string
	PrivateIPv4     string // "" = none
	Group           string // deprecated by the API
	Generation      string // of its interfaces: legacy_config or linode; "" = legacy_config
	PlacementGroup  int    // 0 = none
	FirewallID      int    // 0 = none
	IPv6            string
	DiskEncryption  string
	HasUserData     bool
	WatchdogEnabled bool
	Alerts          api.InstanceAlerts
	BackupsEnabled  bool
	BackupDay       string // "" = null
	BackupWindow    string // "" = null

	MaintenancePolicy string
	Maintenance       *HostMaintenance // nil = none
	Created, Updated  time.Time

	Console   string // what was last seen on it, of a Linode that is no worker
	BootFault string // why its last boot failed; "" = it did not

	userData string              // base64, as it was sent; the API shows only that there is some
	keys     map[string][]string // for SSH, by user
}

// IPv4 lists the addresses, the public one first.
func (i Instance) IPv4() []string {
	if i.PrivateIPv4 == "" {
		return []string{i.PublicIPv4}
	}
	return []string{i.PublicIPv4, i.PrivateIPv4}
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
