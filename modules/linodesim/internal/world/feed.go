package world

import (
	"cmp"
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

type feed struct {
	subscribers map[*subscriber]struct{}
}

type subscriber struct {
	plain   bool // wants the Linodes that are no workers, instead of the workers
	pending []account.Event
	signal  chan struct{} // capacity 1: something is pending, or the agenda changed
}

func newFeed() feed { return feed{subscribers: map[*subscriber]struct{}{}} }

// wake makes every subscriber look again at the time of the next planned change.
func (f *feed) wake() {
	for s := range f.subscribers {
		select {
		case s.signal <- struct{}{}:
		default:
		}
	}
}

func (f *feed) send(e account.Event) {
	for s := range f.subscribers {
		if s.plain == (e.Cluster.ID == 0) {
			s.pending = append(s.pending, e)
		}
	}
	f.wake()
}

// Subscribe returns a channel with all events of worker nodes, in order. The channel is
// closed when the context ends. It starts with a joins event for every node that has
// joined already. Each subscriber has one goroutine.
func Subscribe(ctx context.Context, w *World) <-chan account.Event {
	return subscribe(ctx, w, &subscriber{}, func(at *Moment, s *subscriber) {
		for _, c := range sorted(at.clusters) {
			for _, p := range c.pools {
				for _, n := range p.nodes {
					if i := at.instances[n.InstanceID]; i != nil && !n.JoinedAt.IsZero() {
						s.pending = append(s.pending, at.Feed().event(account.NodeJoins, p, i))
					}
				}
			}
		}
	})
}

// SubscribeLinodes is Subscribe for the Linodes that are no workers. It starts
// with a boots event for each that runs.
func SubscribeLinodes(ctx context.Context, w *World) <-chan account.Event {
	return subscribe(ctx, w, &subscriber{plain: true}, func(at *Moment, s *subscriber) {
		for _, i := range sorted(at.instances) {
			if i.ClusterID == 0 && i.Status == account.StatusRunning {
				s.pending = append(s.pending, at.Feed().linodeEvent(account.LinodeBoots, i))
			}
		}
	})
}

// subscribe adds a subscriber. begin gives it its first events, from the present state.
func subscribe(ctx context.Context, w *World, s *subscriber, begin func(*Moment, *subscriber)) <-chan account.Event {
	s.signal = make(chan struct{}, 1)
	at, end := w.Begin(Caller{})
	begin(at, s)
	at.feed.subscribers[s] = struct{}{}
	end()

	out := make(chan account.Event)
	go deliver(ctx, w, s, out)
	return out
}

func deliver(ctx context.Context, w *World, s *subscriber, out chan<- account.Event) {
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
			case out <- e:
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

// take returns the pending events, and a channel that fires when the next planned
// change is due. The channel is nil if no change is planned or if events are pending.
func (w *World) take(s *subscriber) ([]account.Event, <-chan time.Time) {
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

func (w Feed) publish(kind account.EventKind, n *node) {
	if i := w.instances[n.InstanceID]; i != nil {
		w.feed.send(w.event(kind, n.pool, i))
	}
}

// nowhere stands for the pool of a Linode that is no worker.
var nowhere = &pool{cluster: &cluster{}}

// publishBoot reports that a Linode runs: NodeReboots for a worker, LinodeBoots for any
// other Linode.
func (w Feed) publishBoot(i *Instance) {
	if p := w.pools[i.PoolID]; i.ClusterID != 0 && p != nil && w.instances[i.ID] == i {
		w.feed.send(w.event(account.NodeReboots, p, i))
	}
	w.publishLinode(account.LinodeBoots, i)
}

// publishLinode reports an event of a Linode that is no worker.
func (w Feed) publishLinode(kind account.EventKind, i *Instance) {
	if w.instances[i.ID] == i && i.ClusterID == 0 {
		w.feed.send(w.linodeEvent(kind, i))
	}
}

func (w Feed) linodeEvent(kind account.EventKind, i *Instance) account.Event {
	e := w.event(kind, nowhere, i)
	e.Name = i.Label
	return e
}

// publishGone reports a Linode's end; a worker's pool may be gone already.
func (w Feed) publishGone(i *Instance) {
	if i.ClusterID == 0 {
		w.feed.send(w.linodeEvent(account.LinodeGone, i))
		return
	}
	p := w.pools[i.PoolID]
	if p == nil {
		c := w.clusters[i.ClusterID]
		if c == nil { // deleted with its pools
			c = &cluster{Cluster: account.Cluster{ID: i.ClusterID}}
		}
		p = &pool{Pool: account.Pool{ID: i.PoolID, ClusterID: i.ClusterID}, cluster: c}
	}
	w.feed.send(w.event(account.NodeGone, p, i))
}

// workerName is the name of the Kubernetes Node: the label that LKE gave the Linode,
// also in a pool that has a label.
func workerName(i *Instance) string { return cmp.Or(i.given, account.NodeName(i.ClusterID, i.NodeID)) }

func (w Feed) event(kind account.EventKind, p *pool, i *Instance) account.Event {
	plan, _ := w.catalog.Type(i.Type)
	pool, instance := clonePool(p.Pool), i.clone()
	version := pool.K8sVersion
	if version == "" {
		version = p.cluster.K8sVersion
	}
	root, swap := w.assets.diskUse(i.ID)
	return account.Event{
		Kind: kind, At: w.now,
		Cluster: account.EventCluster{ID: p.cluster.ID, Label: p.cluster.Label, Tier: p.cluster.Tier},
		NodeID:  i.NodeID, Name: workerName(i),
		EventPool: account.EventPool{
			PoolID: i.PoolID, PoolLabel: pool.Label, K8sVersion: version, Labels: pool.Labels, Taints: pool.Taints, PoolTags: pool.Tags,
		},
		EventLinode: account.EventLinode{
			InstanceID: i.ID, HostUUID: i.HostUUID, Region: i.Region, PublicIPv4: i.PublicIPv4, PrivateIPv4: i.PrivateIPv4, IPv6: i.IPv6,
			VPCIPv4:        w.Interfaces().addressInVPC(i),
			DiskEncryption: i.DiskEncryption, InstanceTags: instance.Tags, RootMB: root, SwapMB: swap,
		},
		EventPlan: account.EventPlan{Type: i.Type, VCPUs: plan.VCPUs, GPUs: plan.GPUs, MemoryMB: plan.Memory, DiskMB: plan.Disk},
	}
}
