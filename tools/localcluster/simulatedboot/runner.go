package simulatedboot

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Nodes reads and writes Nodes in the Kubernetes API.
type Nodes = corev1client.NodeInterface

// Leases deletes the Leases by which kubelets report that they run.
type Leases interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Config of a Runner.
type Config struct {
	Program     string // the file of controlplane.Machine
	Dir         string // the machines' roots; a short path
	LogDir      string // the kubelets' logs
	MetadataURL string // of the simulator's Metadata service
	// Kubelets is the number of kubelets that stay at a time. kwok takes over any further Node once it is Ready. 0 = 20, -1 = kwok takes
	// over all Nodes.
	Kubelets int
	// Leases are the kubelets' Leases. kwok takes over a Node only when its kubelet's Lease has expired, after 40 s, or is deleted. Required
	// unless all kubelets stay.
	Leases Leases
	// Simulated reports Nodes that kwok takes over in any case; nil = no such Nodes.
	Simulated func(node string) bool
	// Own is the beginning of the labels of Linodes that were set up by hand. kwok simulates their kubelets.
	Own string
	// KwokLabels are the labels of a Node that kwok simulates. KubeletPort is the port of the server for the logs of these Nodes.
	KwokLabels  map[string]string
	KubeletPort int
	Version     string // of the kubelets that kwok simulates
	// Console gets the output of a boot, and the reason if the boot failed.
	Console func(linodeID int, text, fault string)
	Log     *slog.Logger
}

// Runner follows the Linodes of one account.
type Runner struct {
	nodes Nodes
	cfg   Config

	mu      sync.Mutex
	running map[int]life    // by Linode
	held    map[string]bool // Nodes that must not get pods yet
	slots   chan struct{}   // one for each kubelet
	all     sync.WaitGroup
}

// life is a Linode that runs.
type life struct {
	end   context.CancelFunc
	ended chan struct{}
}

// New makes a Runner; Run runs it.
func New(nodes Nodes, cfg Config) *Runner {
	cfg.Kubelets = cmp.Or(cfg.Kubelets, 20)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{nodes: nodes, cfg: cfg, running: map[int]life{}, held: map[string]bool{}, slots: make(chan struct{}, max(0, cfg.Kubelets))}
}

// Run follows the events until ctx ends or events is closed. All kubelets have ended when it returns.
func (r *Runner) Run(ctx context.Context, events <-chan linodesim.Event) {
	ctx, cancel := context.WithCancel(ctx)
	defer r.all.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open {
				return
			}
			r.note(ctx, e)
		}
	}
}

func (r *Runner) note(ctx context.Context, e linodesim.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, runs := r.running[e.InstanceID]
	if runs && e.Kind != linodesim.LinodeBoots {
		before.end()
		delete(r.running, e.InstanceID)
	}
	switch {
	case e.Kind == linodesim.LinodeBoots && !runs:
		ctx, end := context.WithCancel(ctx)
		l := life{end, make(chan struct{})}
		r.running[e.InstanceID] = l
		r.all.Go(func() {
			defer close(l.ended)
			defer end()
			r.live(ctx, e)
		})
	case e.Kind == linodesim.LinodeGone:
		r.all.Go(func() {
			if runs {
				<-before.ended
			}
			r.forget(ctx, e)
		})
	}
}

// live runs a Linode from its boot to its end.
func (r *Runner) live(ctx context.Context, e linodesim.Event) {
	log := r.cfg.Log.With("linode", e.InstanceID, "label", e.Name)
	if r.cfg.Own != "" && strings.HasPrefix(e.Name, r.cfg.Own) {
		r.registerOwn(ctx, e)
		return
	}
	r.hold(e.Name) // until it is clear whether a process or kwok is the kubelet
	defer r.release(e.Name)
	m := &machine{cfg: r.cfg, event: e, console: &console{}}
	kubelet, err := m.boot(ctx)
	if ctx.Err() == nil {
		r.cfg.Console(e.InstanceID, m.console.String(), text(err))
	}
	switch {
	case err != nil:
		log.Warn("the boot failed", "error", err)
		return
	case kubelet == nil:
		return
	}
	defer kubelet.Stop(context.WithoutCancel(ctx), kubeletEnd)
	log.Info("kubelet started", "pid", kubelet.PID())
	if r.slot(e.Name) {
		defer func() { <-r.slots }()
	} else {
		r.handOver(ctx, e, kubelet)
		log.Info("kwok simulates the kubelet from now on")
		return
	}
	r.release(e.Name)
	select {
	case <-ctx.Done():
	case <-kubelet.Exited():
		log.Warn("the kubelet ended", "error", kubelet.Failure())
		r.cfg.Console(e.InstanceID, m.console.String(), text(kubelet.Failure()))
	}
}

// slot takes a place for a real kubelet, if a place is free for the Node.
func (r *Runner) slot(node string) bool {
	if r.cfg.Simulated != nil && r.cfg.Simulated(node) {
		return false
	}
	select {
	case r.slots <- struct{}{}:
		return true
	default: // too many
		return false
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// forget waits until the Node of a deleted Linode is deleted, too, and then removes the Linode's root.
func (r *Runner) forget(ctx context.Context, e linodesim.Event) {
	r.silence(ctx, e)
	_ = os.RemoveAll(filepath.Join(r.cfg.Dir, strconv.Itoa(e.InstanceID)))
}
