package world

import (
	"cmp"
	"context"
	"time"
)

// EventKind distinguishes events.
type EventKind string

// What happens to worker nodes.
const (
	NodeJoins   EventKind = "joins"   // its kubelet is up: a Kubernetes Node should appear
	NodeChanged EventKind = "changed" // the pool's labels or taints changed
	NodeReboots EventKind = "reboots" // its Linode runs again after a shutdown or reboot: its kubelet is up again
	NodeGone    EventKind = "gone"    // its Linode is gone: the Kubernetes Node should disappear
)

// What happens to Linodes that are no workers of LKE.
const (
	LinodeBoots EventKind = "boots" // its image starts, and can read the Metadata service
	LinodeStops EventKind = "stops" // it is being shut down
	LinodeGone  EventKind = "ends"  // it was deleted
)

// Event carries all that is needed to build a Kubernetes Node. Those of Linodes
// that are no workers have no cluster, pool and node, and the label as Name.
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

// EventCluster is the event's cluster in short.
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

// EventPlan is the size of the Linode.
type EventPlan struct {
	Type             string
	VCPUs, GPUs      int
	MemoryMB, DiskMB int
}

type feed struct {
	subscribers map[*subscriber]struct{}
}

type subscriber struct {
	plain   bool // wants the Linodes that are no workers, instead of the workers
	pending []Event
	signal  chan struct{} // capacity 1: something is pending, or the agenda changed
}

func newFeed() feed { return feed{subscribers: map[*subscriber]struct{}{}} }

// wake makes every subscriber look again when the next thing is due.
func (f *feed) wake() {
	for s := range f.subscribers {
		select {
		case s.signal <- struct{}{}:
		default:
		}
	}
}

func (f *feed) send(e Event) {
	for s := range f.subscribers {
		if s.plain == (e.Cluster.ID == 0) {
			s.pending = append(s.pending, e)
		}
	}
	f.wake()
}

// Subscribe gives the events of worker nodes in order, none lost, until the
// context ends; then the channel is closed. It starts with a joins event for
// every node that has joined already. One goroutine runs for each subscriber,
// none without.
func Subscribe[T any](ctx context.Context, w *World, as func(Event) T) <-chan T {
	return subscribe(ctx, w, as, &subscriber{}, func(at *Moment, s *subscriber) {
		for _, c := range sorted(at.clusters) {
			for _, p := range c.pools {
				for _, n := range p.nodes {
					if i := at.instances[n.InstanceID]; i != nil && !n.JoinedAt.IsZero() {
						s.pending = append(s.pending, at.Feed().event(NodeJoins, p, i))
					}
				}
			}
		}
	})
}

// SubscribeLinodes is Subscribe for the Linodes that are no workers. It starts
// with a boots event for each that runs.
func SubscribeLinodes[T any](ctx context.Context, w *World, as func(Event) T) <-chan T {
	return subscribe(ctx, w, as, &subscriber{plain: true}, func(at *Moment, s *subscriber) {
		for _, i := range sorted(at.instances) {
			if i.ClusterID == 0 && i.Status == StatusRunning {
				s.pending = append(s.pending, at.Feed().linodeEvent(LinodeBoots, i))
			}
		}
	})
}

// subscribe adds a subscriber that begins with what there is.
func subscribe[T any](ctx context.Context, w *World, as func(Event) T, s *subscriber, begin func(*Moment, *subscriber)) <-chan T {
	s.signal = make(chan struct{}, 1)
	at, end := w.Begin(Caller{})
	begin(at, s)
	at.feed.subscribers[s] = struct{}{}
	end()

	out := make(chan T)
	go deliver(ctx, w, as, s, out)
	return out
}

func deliver[T any](ctx context.Context, w *World, as func(Event) T, s *subscriber, out chan<- T) {
	defer close(out)
	defer func() {
		w.mu.Lock()
		delete(w.feed.subscribers, s)
		w.mu.Unlock()
	}()
	for {
		events, next := w.take(s)
		for _, e := range events {
			select {
			case out <- as(e):
			case <-ctx.Done():
				return
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.signal:
		case <-next:
		}
	}
}

// take gives what is pending, and a channel that fires when the next planned
// thing is due (nil without one).
func (w *World) take(s *subscriber) ([]Event, <-chan time.Time) {
	_, end := w.Begin(Caller{})
	defer end()
	events := s.pending
	s.pending = nil
	at, ok := w.agenda.next()
	if !ok || len(events) > 0 {
		return events, nil
	}
	return nil, w.clock.After(at.Sub(w.now))
}

func (w Feed) publish(kind EventKind, n *node) {
	if i := w.instances[n.InstanceID]; i != nil {
		w.feed.send(w.event(kind, n.pool, i))
	}
}

// nowhere stands for the pool of a Linode that is no worker.
var nowhere = &pool{cluster: &cluster{}}

// publishBoot reports that a Linode has booted again.
func (w Feed) publishBoot(i *Instance) {
	if p := w.pools[i.PoolID]; i.ClusterID != 0 && p != nil && w.instances[i.ID] == i {
		w.feed.send(w.event(NodeReboots, p, i))
	}
	w.publishLinode(LinodeBoots, i)
}

// publishLinode reports what happened to a Linode that is no worker.
func (w Feed) publishLinode(kind EventKind, i *Instance) {
	if w.instances[i.ID] == i && i.ClusterID == 0 {
		w.feed.send(w.linodeEvent(kind, i))
	}
}

func (w Feed) linodeEvent(kind EventKind, i *Instance) Event {
	e := w.event(kind, nowhere, i)
	e.Name = i.Label
	return e
}

// publishGone reports a Linode's end; a worker's pool may be gone already.
func (w Feed) publishGone(i *Instance) {
	if i.ClusterID == 0 {
		w.feed.send(w.linodeEvent(LinodeGone, i))
		return
	}
	p := w.pools[i.PoolID]
	if p == nil {
		c := w.clusters[i.ClusterID]
		if c == nil { // deleted with its pools
			c = &cluster{Cluster: Cluster{ID: i.ClusterID}}
		}
		p = &pool{Pool: Pool{ID: i.PoolID, ClusterID: i.ClusterID}, cluster: c}
	}
	w.feed.send(w.event(NodeGone, p, i))
}

// workerName is the name of the Kubernetes Node: the label that LKE gave the Linode, in a pool with a label too.
func workerName(i *Instance) string { return cmp.Or(i.given, NodeName(i.ClusterID, i.NodeID)) }

func (w Feed) event(kind EventKind, p *pool, i *Instance) Event {
	plan, _ := w.catalog.Type(i.Type)
	pool, instance := p.clone(), i.clone()
	version := pool.K8sVersion
	if version == "" {
		version = p.cluster.K8sVersion
	}
	root, swap := w.assets.diskUse(i.ID)
	return Event{
		Kind: kind, At: w.now,
		Cluster: EventCluster{ID: p.cluster.ID, Label: p.cluster.Label, Tier: p.cluster.Tier},
		NodeID:  i.NodeID, Name: workerName(i),
		EventPool: EventPool{
			PoolID: i.PoolID, PoolLabel: pool.Label, K8sVersion: version, Labels: pool.Labels, Taints: pool.Taints, PoolTags: pool.Tags,
		},
		EventLinode: EventLinode{
			InstanceID: i.ID, HostUUID: i.HostUUID, Region: i.Region, PublicIPv4: i.PublicIPv4, PrivateIPv4: i.PrivateIPv4, IPv6: i.IPv6,
			VPCIPv4:        w.Interfaces().addressInVPC(i),
			DiskEncryption: i.DiskEncryption, InstanceTags: instance.Tags, RootMB: root, SwapMB: swap,
		},
		EventPlan: EventPlan{Type: i.Type, VCPUs: plan.VCPUs, GPUs: plan.GPUs, MemoryMB: plan.Memory, DiskMB: plan.Disk},
	}
}
