package lkeplayer

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// workers bounds the API calls at the same time when many nodes join together.
const workers = 8

const (
	firstRetry     = 20 * time.Millisecond
	longestRetry   = 5 * time.Second
	reapplyPeriod  = 2 * time.Second
	requestTimeout = 30 * time.Second
)

// Nodes is what the player needs of the Kubernetes API; client-go's typed client
// has it.
type Nodes = corev1client.NodeInterface

// Config of a Player.
type Config struct {
	ClusterID int // other clusters' nodes are ignored
	// Labels and Annotations on every Node, for who plays the kubelet.
	Labels, Annotations map[string]string
	// KubeletPort of the server on this machine that serves the nodes' logs; 0 = none does.
	KubeletPort int
	// ReapplyRemoved: labels and taints of the pool that a user removes from a
	// Node come back, as LKE may or may not do.
	ReapplyRemoved bool
	Kubelets       Kubelets // nil = kwok plays all
	Log            *slog.Logger
}

// Player follows the events of one cluster.
type Player struct {
	nodes Nodes
	cfg   Config
	queue workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	machine map[string]*machine // by node name
}

// machine is what is known of one Linode and how far its Node has come.
type machine struct {
	wanted      linodesim.Event // the latest event
	applied     linodesim.Event // what the Node has of the pool
	gone        bool
	registered  bool
	initialized bool
	kubelet     realKubelet
}

// New makes a Player; Run plays.
func New(nodes Nodes, cfg Config) *Player {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, longestRetry)
	return &Player{
		nodes: nodes, cfg: cfg, machine: map[string]*machine{},
		queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// Run plays until ctx ends or events is closed, and returns when all its work
// has stopped.
func (p *Player) Run(ctx context.Context, events <-chan linodesim.Event) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { p.work(ctx) })
	}
	if p.cfg.ReapplyRemoved {
		all.Go(func() { p.reapply(ctx) })
	}
	p.listen(ctx, events)
	cancel()
	p.queue.ShutDown()
	all.Wait()
	p.endKubelets(context.WithoutCancel(ctx))
}

func (p *Player) listen(ctx context.Context, events <-chan linodesim.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open {
				return
			}
			if e.Cluster.ID == p.cfg.ClusterID {
				p.note(e)
			}
		}
	}
}

// note records an event; a worker acts on it. Names are unique for
// ever: LKE gives a replaced node a new one.
func (p *Player) note(e linodesim.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.machine[e.Name]
	switch {
	case e.Kind == linodesim.NodeGone && m == nil:
		return // it never joined
	case e.Kind == linodesim.NodeGone:
		m.gone = true
	case e.Kind == linodesim.NodeJoins && m == nil:
		p.machine[e.Name] = &machine{wanted: e, applied: e}
	case m != nil:
		m.wanted = e
	default:
		return // changed before it joined: joins will tell
	}
	p.queue.Add(e.Name)
}

func (p *Player) work(ctx context.Context) {
	for {
		name, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		if err := p.step(ctx, name); err == nil {
			p.queue.Forget(name)
		} else if ctx.Err() == nil {
			if !apierrors.IsConflict(err) {
				p.cfg.Log.Warn("node not up to date yet", "node", name, "error", err)
			}
			p.queue.AddRateLimited(name)
		}
		p.queue.Done(name)
	}
}

// step brings one Node to where its machine is. The queue gives a name to one
// worker at a time.
func (p *Player) step(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, known := p.look(name)
	switch {
	case !known:
		return nil
	case m.gone:
		m.kubelet.stop(ctx)
		return p.remove(ctx, name)
	case !m.registered && p.cfg.Kubelets != nil && !m.kubelet.played:
		return p.registerReal(ctx, name, m)
	case !m.registered:
		return p.register(ctx, name, m)
	default:
		return p.update(ctx, name, m)
	}
}

func (p *Player) look(name string) (machine, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, known := p.machine[name]
	if !known {
		return machine{}, false
	}
	return *m, true
}

// change edits the machine, if it is still known.
func (p *Player) change(name string, edit func(*machine)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, known := p.machine[name]; known {
		edit(m)
	}
}

func (p *Player) register(ctx context.Context, name string, m machine) error {
	node := Registered(m.wanted, p.cfg.Labels)
	ServedBy(node, p.cfg.KubeletPort)
	maps.Copy(node.Annotations, p.cfg.Annotations)
	_, err := p.nodes.Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	p.cfg.Log.Info("node registered", "node", name, "type", m.wanted.Type, "pool", m.wanted.PoolID)
	p.change(name, func(stored *machine) { stored.registered, stored.applied = true, m.wanted })
	p.queue.Add(name) // go on as the cloud controller manager
	return nil
}

// update initialises the Node or carries a change of its pool to it. The write
// names the version that was read: no client's change in between is lost.
func (p *Player) update(ctx context.Context, name string, m machine) error {
	node, err := p.nodes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // it was deleted; its kubelet does not register again
	}
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	if !m.initialized {
		if m.kubelet.end != nil {
			if node, err = p.adopt(ctx, node, m.wanted); err != nil {
				return err
			}
		}
		Initialize(node, m.wanted)
	}
	Follow(node, m.applied, m.wanted)
	if p.cfg.ReapplyRemoved {
		Reapply(node, m.wanted)
	}
	if !sameNode(before, node) {
		if _, err := p.nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	p.change(name, func(stored *machine) { stored.initialized, stored.applied = true, m.wanted })
	return nil
}

func (p *Player) remove(ctx context.Context, name string) error {
	err := p.nodes.Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	p.cfg.Log.Info("node removed, its Linode is gone", "node", name)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.machine, name)
	return nil
}

// reapply looks at every Node from time to time.
func (p *Player) reapply(ctx context.Context) {
	ticker := time.NewTicker(reapplyPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		for name, m := range p.machine {
			if m.initialized {
				p.queue.Add(name)
			}
		}
		p.mu.Unlock()
	}
}

func sameNode(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec)
}
