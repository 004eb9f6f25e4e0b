package simulatedlke

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// workers bounds the number of API calls at the same time, for many nodes that join together.
const workers = 8

const (
	firstRetry     = 20 * time.Millisecond
	longestRetry   = 5 * time.Second
	reapplyPeriod  = 2 * time.Second
	requestTimeout = 30 * time.Second
)

// Nodes reads and writes Nodes in the Kubernetes API; client-go's typed client
// implements it.
type Nodes = corev1client.NodeInterface

// Config of a Runner.
type Config struct {
	ClusterID int // other clusters' nodes are ignored
	// Labels and Annotations are added to every Node, for the program that simulates the kubelet.
	Labels, Annotations map[string]string
	// KubeletPort is the port of the server on this machine that serves the nodes' logs; 0 = there is no such server.
	KubeletPort int
	// Memory is for nodes that kwok simulates and whose plans have no recording.
	Memory Memory
	// ReapplyRemoved puts back labels and taints of the pool that a user removes from
	// a Node. It is not known whether LKE does this.
	ReapplyRemoved bool
	// TaintsAfter is the time from the registration of a Node until LKE sets its pool's
	// taints; 0 = the kubelet registers with the taints. See linodesim.PoolTaints.
	TaintsAfter time.Duration
	// Lies reports whether the simulated account breaks an assumption about the Nodes that kwok simulates; nil = it breaks none.
	Lies     func(report.Assumption) bool
	Kubelets Kubelets // nil = kwok simulates all kubelets
	Log      *slog.Logger
}

// Runner follows the events of one cluster.
type Runner struct {
	nodes Nodes
	cfg   Config
	queue workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	machine map[string]*machine // by node name
}

// machine has the last event of one Linode and the state of its Node.
type machine struct {
	wanted      linodesim.Event // the latest event
	applied     linodesim.Event // the pool's labels and taints on the Node
	gone        bool
	registered  bool
	taintsAt    time.Time // when the pool's taints are to be set; zero = they are set already
	initialized bool
	node        string // the Node's name; "" = the Linode's name
	reboots     int    // of the Linode since it joined
	booted      int    // how many of these reboots the Node shows
	kubelet     realKubelet
}

// New makes a Runner; Run runs it.
func New(nodes Nodes, cfg Config) *Runner {
	if cfg.Lies == nil {
		cfg.Lies = func(report.Assumption) bool { return false }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, longestRetry)
	return &Runner{
		nodes: nodes, cfg: cfg, machine: map[string]*machine{},
		queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// Run follows the events until ctx ends or events is closed, and returns when all its
// work has stopped.
func (r *Runner) Run(ctx context.Context, events <-chan linodesim.Event) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { r.work(ctx) })
	}
	if r.cfg.ReapplyRemoved {
		all.Go(func() { r.reapply(ctx) })
	}
	r.listen(ctx, events)
	cancel()
	r.queue.ShutDown()
	all.Wait()
	r.endKubelets(context.WithoutCancel(ctx))
}

func (r *Runner) listen(ctx context.Context, events <-chan linodesim.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open {
				return
			}
			if e.Cluster.ID == r.cfg.ClusterID {
				r.note(e)
			}
		}
	}
}

// note records an event; a worker acts on it. A name is never used again: LKE gives a new
// name to the node that replaces another node.
func (r *Runner) note(e linodesim.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.machine[e.Name]
	switch {
	case e.Kind == linodesim.NodeGone && m == nil:
		return // it never joined
	case e.Kind == linodesim.NodeGone:
		m.gone = true
	case e.Kind == linodesim.NodeReboots && m != nil:
		m.wanted = e
		m.reboots++
	case e.Kind == linodesim.NodeJoins && m == nil:
		r.machine[e.Name] = &machine{wanted: e, applied: e}
	case m != nil:
		m.wanted = e
	default:
		return // changed before it joined: its event at joining has the change
	}
	r.queue.Add(e.Name)
}

func (r *Runner) work(ctx context.Context) {
	for {
		name, shutdown := r.queue.Get()
		if shutdown {
			return
		}
		if err := r.step(ctx, name); err == nil {
			r.queue.Forget(name)
		} else if ctx.Err() == nil {
			if !apierrors.IsConflict(err) {
				r.cfg.Log.Warn("node not up to date yet", "node", name, "error", err)
			}
			r.queue.AddRateLimited(name)
		}
		r.queue.Done(name)
	}
}

// step changes one Node to match its machine. The queue gives a name to one worker at a
// time.
func (r *Runner) step(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, known := r.look(name)
	switch {
	case !known:
		return nil
	case m.gone:
		m.kubelet.stop(ctx)
		return r.remove(ctx, name, m)
	case !m.registered && r.cfg.Kubelets != nil && !m.kubelet.simulated:
		return r.registerReal(ctx, name, m)
	case !m.registered:
		return r.register(ctx, name, m)
	default:
		return r.update(ctx, name, m)
	}
}

func (r *Runner) look(name string) (machine, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.machine[name]
	if !known {
		return machine{}, false
	}
	return *m, true
}

// change edits the machine, if it is still known.
func (r *Runner) change(name string, edit func(*machine)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, known := r.machine[name]; known {
		edit(m)
	}
}

func (r *Runner) register(ctx context.Context, name string, m machine) error {
	joined := m.wanted
	var taintsAt time.Time
	after := r.cfg.TaintsAfter
	if r.cfg.Lies(report.LateTaints) {
		after = linodesim.LieTaints
	}
	if after > 0 && len(joined.Taints) > 0 {
		joined.Taints, taintsAt = nil, time.Now().Add(after)
	}
	node := Registered(joined, r.cfg.Labels)
	ServedBy(node, r.cfg.KubeletPort)
	size := machineOf(m.wanted, r.cfg.Memory)
	if r.cfg.Lies(report.LessMemory) {
		size.MemoryMB -= int(linodesim.LieMemoryShare * float64(size.MemoryMB))
	}
	node.Status.Capacity, node.Status.Allocatable = Capacity(size)
	if r.cfg.Lies(report.OtherNames) {
		node.Name = fmt.Sprintf("node-%x", joined.InstanceID)
		node.Labels[corev1.LabelHostname] = node.Name
	}
	maps.Copy(node.Annotations, r.cfg.Annotations)
	_, err := r.nodes.Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	r.cfg.Log.Info("node registered", "node", node.Name, "type", m.wanted.Type, "pool", m.wanted.PoolID)
	r.change(name, func(stored *machine) {
		stored.registered, stored.applied, stored.taintsAt, stored.node = true, joined, taintsAt, node.Name
	})
	r.queue.Add(name) // the next step acts as the cloud controller manager
	return nil
}

// update initialises the Node or applies a change of its pool to it. The write has the
// resource version that was read, so that no client's change in between is lost.
func (r *Runner) update(ctx context.Context, name string, m machine) error {
	node, err := r.nodes.Get(ctx, cmp.Or(m.node, name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // it was deleted; its kubelet does not register again
	}
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	wanted := m.wanted
	if left := time.Until(m.taintsAt); left > 0 {
		wanted.Taints = m.applied.Taints
		r.queue.AddAfter(name, left)
	} else {
		m.taintsAt = time.Time{}
	}
	if !m.initialized {
		if m.kubelet.end != nil {
			if node, err = r.adopt(ctx, node, m.wanted); err != nil {
				return err
			}
		}
		Initialize(node, m.wanted)
	}
	if m.booted < m.reboots && m.kubelet.end == nil {
		if node, err = r.bootAgain(ctx, node, m.reboots); err != nil {
			return err
		}
		before = node.DeepCopy()
		maps.Copy(node.Labels, r.cfg.Labels)
	}
	Follow(node, m.applied, wanted)
	if r.cfg.ReapplyRemoved {
		Reapply(node, wanted)
	}
	if !sameNode(before, node) {
		if _, err := r.nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	r.change(name, func(stored *machine) {
		stored.initialized, stored.applied, stored.booted, stored.taintsAt = true, wanted, m.reboots, m.taintsAt
	})
	return nil
}

// bootAgain gives a Node a new boot ID, as a kubelet reports it after a reboot.
func (r *Runner) bootAgain(ctx context.Context, node *corev1.Node, boot int) (*corev1.Node, error) {
	node.Status.NodeInfo.BootID = fmt.Sprintf("%s-%d", node.UID, boot)
	r.cfg.Log.Info("node booted again", "node", node.Name, "boot", boot)
	return r.nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
}

func (r *Runner) remove(ctx context.Context, name string, m machine) error {
	err := r.nodes.Delete(ctx, cmp.Or(m.node, name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	r.cfg.Log.Info("node removed, its Linode is gone", "node", name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.machine, name)
	return nil
}

// reapply queues every initialized Node each reapplyPeriod.
func (r *Runner) reapply(ctx context.Context) {
	ticker := time.NewTicker(reapplyPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r.mu.Lock()
		for name, m := range r.machine {
			if m.initialized {
				r.queue.Add(name)
			}
		}
		r.mu.Unlock()
	}
}

func sameNode(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec)
}
