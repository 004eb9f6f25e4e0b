package simulatedlke

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
	// Start starts the kubelet of a new worker, which registers the worker. The returned function ends the kubelet. If it is nil, no
	// kubelet was started, and kwok simulates the worker.
	Start(e linodesim.Event) (end func(context.Context), err error)
}

// realKubelet is the kubelet of one machine.
type realKubelet struct {
	end       func(context.Context) // nil = no kubelet was started
	simulated bool                  // kwok simulates the kubelet
}

func (k realKubelet) stop(ctx context.Context) {
	if k.end != nil {
		k.end(ctx)
	}
}

// registerReal starts the machine's kubelet once, and waits for the Node that it registers.
func (r *Runner) registerReal(ctx context.Context, name string, m machine) error {
	if m.kubelet.end == nil {
		end, err := r.cfg.Kubelets.Start(m.wanted)
		if err != nil {
			return err
		}
		r.change(name, func(stored *machine) {
			stored.kubelet, stored.applied = realKubelet{end: end, simulated: end == nil}, m.wanted
		})
		r.queue.Add(name)
		return nil
	}
	_, err := r.nodes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.queue.AddAfter(name, registrationPoll)
		return nil
	}
	if err != nil {
		return err
	}
	r.cfg.Log.Info("node registered by its kubelet", "node", name, "type", m.wanted.Type, "pool", m.wanted.PoolID)
	r.change(name, func(stored *machine) { stored.registered = true })
	r.queue.Add(name)
	return nil
}

// adopt adds the addresses and the labels of reserved domains to a Node, which a kubelet may not set itself.
func (r *Runner) adopt(ctx context.Context, node *corev1.Node, e linodesim.Event) (*corev1.Node, error) {
	node.Status.Addresses = Addresses(e)
	node, err := r.nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	node.Labels[PoolIDLabel] = strconv.Itoa(e.PoolID)
	maps.Copy(node.Labels, e.Labels)
	return node, nil
}

// endKubelets ends the kubelets that still run when the runner ends.
func (r *Runner) endKubelets(ctx context.Context) {
	r.mu.Lock()
	machines := maps.Clone(r.machine)
	r.mu.Unlock()
	for _, m := range machines {
		m.kubelet.stop(ctx)
	}
}
