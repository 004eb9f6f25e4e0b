package linodesim

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// EventKind distinguishes events.
type EventKind string

// Kinds of events of worker nodes.
const (
	NodeJoins   = EventKind(world.NodeJoins)   // its kubelet is up: a Kubernetes Node should appear
	NodeChanged = EventKind(world.NodeChanged) // the pool's labels or taints changed
	NodeReboots = EventKind(world.NodeReboots) // its Linode runs again after a shutdown or reboot: its kubelet is up again
	NodeGone    = EventKind(world.NodeGone)    // its Linode is gone: the Kubernetes Node should disappear
)

// Kinds of events of Linodes that are no workers of LKE.
const (
	LinodeBoots = EventKind(world.LinodeBoots) // its image starts, and can read the Metadata service
	LinodeStops = EventKind(world.LinodeStops) // it is being shut down
	LinodeGone  = EventKind(world.LinodeGone)  // it was deleted
)

// Event reports a change of a Linode, with all that is needed to build a
// Kubernetes Node. Events of Linodes that are no workers have no cluster, pool and
// node, and the label as Name.
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

// EventPool holds what a node has from its pool.
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
	PrivateIPv4 string // as the Linode has it, and IPv6
	IPv6        string // with its prefix length
	VPCIPv4     string // its first address in a VPC, "" for none
	// DiskEncryption is the Linode's own; the pool's may differ.
	DiskEncryption string
	InstanceTags   []string
	// RootMB and SwapMB are the sizes of the disk with the image and of swap; 0 where disks are not modelled, as of LKE's workers.
	RootMB, SwapMB int
}

// EventPlan holds the size of the Linode.
type EventPlan struct {
	Type             string
	VCPUs, GPUs      int
	MemoryMB, DiskMB int
}

// Subscribe delivers the events of worker nodes until the context ends: first a
// NodeJoins for each that has joined already, then everything in order. A slow
// reader delays only itself.
func (s *Sim) Subscribe(ctx context.Context) <-chan Event {
	return world.Subscribe(ctx, s.world, event)
}

// SubscribeLinodes does as Subscribe for Linodes that are no workers. It starts
// with a LinodeBoots for each that runs.
func (s *Sim) SubscribeLinodes(ctx context.Context) <-chan Event {
	return world.SubscribeLinodes(ctx, s.world, event)
}

func event(e world.Event) Event {
	return Event{
		Kind: EventKind(e.Kind), At: e.At, Cluster: EventCluster(e.Cluster), NodeID: e.NodeID, Name: e.Name,
		EventPool: EventPool(e.EventPool), EventLinode: EventLinode(e.EventLinode), EventPlan: EventPlan(e.EventPlan),
	}
}
