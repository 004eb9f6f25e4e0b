package lkeplayer

import (
	"context"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

const registrationPoll = 200 * time.Millisecond

// Kubelets starts real kubelets.
type Kubelets interface {
	// Start starts that of a new worker, which registers it. The function ends it; nil: kwok is to play this one.
	Start(e linodesim.Event) (end func(context.Context), err error)
}

// realKubelet is that of one machine.
type realKubelet struct {
	end    func(context.Context) // nil = none was started
	played bool                  // kwok plays it
}

func (k realKubelet) stop(ctx context.Context) {
	if k.end != nil {
		k.end(ctx)
	}
}

// registerReal starts the machine's kubelet once, and waits for the Node that it registers.
func (p *Player) registerReal(ctx context.Context, name string, m machine) error {
	if m.kubelet.end == nil {
		end, err := p.cfg.Kubelets.Start(m.wanted)
		if err != nil {
			return err
		}
		p.change(name, func(stored *machine) {
			stored.kubelet, stored.applied = realKubelet{end: end, played: end == nil}, m.wanted
		})
		p.queue.Add(name)
		return nil
	}
	_, err := p.nodes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		p.queue.AddAfter(name, registrationPoll)
		return nil
	}
	if err != nil {
		return err
	}
	p.cfg.Log.Info("node registered by its kubelet", "node", name, "type", m.wanted.Type, "pool", m.wanted.PoolID)
	p.change(name, func(stored *machine) { stored.registered = true })
	p.queue.Add(name)
	return nil
}

// adopt gives a Node what a kubelet may not say of itself: addresses, and labels of reserved domains.
func (p *Player) adopt(ctx context.Context, node *corev1.Node, e linodesim.Event) (*corev1.Node, error) {
	node.Status.Addresses = Addresses(e)
	node, err := p.nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	node.Labels[PoolIDLabel] = strconv.Itoa(e.PoolID)
	maps.Copy(node.Labels, e.Labels)
	return node, nil
}

// endKubelets ends those that still run when the player does.
func (p *Player) endKubelets(ctx context.Context) {
	p.mu.Lock()
	machines := maps.Clone(p.machine)
	p.mu.Unlock()
	for _, m := range machines {
		m.kubelet.stop(ctx)
	}
}
