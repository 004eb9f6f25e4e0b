package bootplayer

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Nodes is what the player needs of the Kubernetes API.
type Nodes = corev1client.NodeInterface

// Config of a Player.
type Config struct {
	Program     string // the file of controlplane.Machine
	Dir         string // the machines' roots; a short path
	LogDir      string // the kubelets' logs
	MetadataURL string // of the simulator's Metadata service
	// Kubelets is how many processes stay at a time; kwok takes over Nodes beyond that are Ready. 0 = 20.
	Kubelets int
	// Own is how labels of Linodes begin that were set up by hand; kwok plays them.
	Own string
	// KwokLabels let kwok play a Node, and KubeletPort is of the server that serves their logs.
	KwokLabels  map[string]string
	KubeletPort int
	Version     string // of the kubelets that kwok plays
	// Console takes what a boot wrote and why it failed.
	Console func(linodeID int, text, fault string)
	Log     *slog.Logger
}

// Player follows the Linodes of one account.
type Player struct {
	nodes Nodes
	cfg   Config

	mu      sync.Mutex
	running map[int]life  // by Linode
	slots   chan struct{} // one for each kubelet
	all     sync.WaitGroup
}

// life is a Linode that runs.
type life struct {
	end   context.CancelFunc
	ended chan struct{}
}

// New makes a Player; Run plays.
func New(nodes Nodes, cfg Config) *Player {
	cfg.Kubelets = cmp.Or(cfg.Kubelets, 20)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Player{nodes: nodes, cfg: cfg, running: map[int]life{}, slots: make(chan struct{}, cfg.Kubelets)}
}

// Run plays until ctx ends or events is closed; all kubelets have ended when it returns.
func (p *Player) Run(ctx context.Context, events <-chan linodesim.Event) {
	ctx, cancel := context.WithCancel(ctx)
	defer p.all.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open {
				return
			}
			p.note(ctx, e)
		}
	}
}

func (p *Player) note(ctx context.Context, e linodesim.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, runs := p.running[e.InstanceID]
	if runs && e.Kind != linodesim.LinodeBoots {
		before.end()
		delete(p.running, e.InstanceID)
	}
	switch {
	case e.Kind == linodesim.LinodeBoots && !runs:
		ctx, end := context.WithCancel(ctx)
		l := life{end, make(chan struct{})}
		p.running[e.InstanceID] = l
		p.all.Go(func() {
			defer close(l.ended)
			defer end()
			p.live(ctx, e)
		})
	case e.Kind == linodesim.LinodeGone:
		p.all.Go(func() {
			if runs {
				<-before.ended
			}
			p.forget(ctx, e)
		})
	}
}

// live is a Linode from its boot to its end.
func (p *Player) live(ctx context.Context, e linodesim.Event) {
	log := p.cfg.Log.With("linode", e.InstanceID, "label", e.Name)
	if p.cfg.Own != "" && strings.HasPrefix(e.Name, p.cfg.Own) {
		p.registerOwn(ctx, e)
		p.initialize(ctx, e)
		return
	}
	m := &machine{cfg: p.cfg, event: e, console: &console{}}
	kubelet, err := m.boot(ctx)
	if ctx.Err() == nil {
		p.cfg.Console(e.InstanceID, m.console.String(), text(err))
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
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default: // too many
		p.handOver(ctx, e, kubelet)
		log.Info("kwok plays the kubelet from now on")
		p.initialize(ctx, e)
		return
	}
	p.initialize(ctx, e)
	select {
	case <-ctx.Done():
	case <-kubelet.Exited():
		log.Warn("the kubelet ended", "error", kubelet.Failure())
		p.cfg.Console(e.InstanceID, m.console.String(), text(kubelet.Failure()))
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// forget removes what is left of a Linode that is gone, its Node first.
func (p *Player) forget(ctx context.Context, e linodesim.Event) {
	p.remove(ctx, e)
	_ = os.RemoveAll(filepath.Join(p.cfg.Dir, strconv.Itoa(e.InstanceID)))
}
