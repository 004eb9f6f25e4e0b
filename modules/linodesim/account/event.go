package account

import "time"

// EventKind distinguishes events.
type EventKind string

// Kinds of events of worker nodes.
const (
	NodeJoins   EventKind = "joins"   // its kubelet is up: a Kubernetes Node should appear
	NodeChanged EventKind = "changed" // the pool's labels or taints changed
	NodeReboots EventKind = "reboots" // its Linode runs again after a shutdown or reboot: its kubelet is up again
	NodeGone    EventKind = "gone"    // its Linode is gone: the Kubernetes Node should disappear
)

// Kinds of events of Linodes that are no workers of LKE.
const (
	LinodeBoots EventKind = "boots" // its image starts, and can read the Metadata service
	LinodeStops EventKind = "stops" // it is being shut down
	LinodeGone  EventKind = "ends"  // it was deleted
)

// Event reports a change of a Linode, with all that is needed to build a Kubernetes Node. An event of a Linode that is
// not a worker has no cluster, pool or node, and the Linode's label as Name.
type Event struct {
	Kind    EventKind
	At      time.Time
	Cluster EventCluster
	NodeID  string
	Name    string // the Kubernetes Node's name
	EventPool
	EventLinode
	EventPlan
}

// EventCluster identifies the cluster of an event.
type EventCluster struct {
	ID    int
	Label string
	Tier  string
}

// EventPool holds the properties that a node gets from its pool.
type EventPool struct {
	PoolID     int
	PoolLabel  string
	K8sVersion string // of the kubelet: the pool's, or the cluster's on Standard
	Labels     map[string]string
	Taints     []Taint
	PoolTags   []string
}

// EventLinode is the Linode behind a node.
type EventLinode struct {
	InstanceID  int
	HostUUID    string
	Region      string
	PublicIPv4  string
	PrivateIPv4 string // without prefix length; "" for none
	IPv6        string // with its prefix length
	VPCIPv4     string // its first address in a VPC, "" for none
	// DiskEncryption is the Linode's own; the pool's may differ.
	DiskEncryption string
	InstanceTags   []string
	// RootMB and SwapMB are the sizes of the disk with the image and of swap; 0 where disks are not modelled, as for
	// LKE's workers.
	RootMB, SwapMB int
}

// EventPlan holds the size of the Linode.
type EventPlan struct {
	Type             string
	VCPUs, GPUs      int
	MemoryMB, DiskMB int
}
