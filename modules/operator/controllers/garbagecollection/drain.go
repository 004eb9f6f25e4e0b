package garbagecollection

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	// drainPause lies between two looks at Nodes that are being drained.
	drainPause = 2 * time.Second
	// vacateTimeout bounds one look at one Node.
	vacateTimeout = 30 * time.Second
)

// pause is until the next look.
func (c *Controller) pause(wait time.Duration) time.Duration {
	if len(c.draining) > 0 {
		return min(wait, drainPause)
	}
	return wait
}

// emptied drains further what the last sweep could not release, and says whether any of it may go now. It is looked at
// again by the sweep that follows; what has got a NodeClaim meanwhile is neither drained nor empty.
func (c *Controller) emptied(ctx context.Context) bool {
	empty := false
	for _, node := range c.draining {
		vacant, err := c.look(ctx, node)
		// An error is the next sweep's to tell.
		empty = empty || vacant && err == nil
	}
	return empty
}

// vacate answers lkepool, which asks about several nodes at once. An error is Kubernetes' and stays here: it must not
// make the sweep, which costs calls to the Linode API, be repeated at once.
func (c *Controller) vacate(ctx context.Context, node lkepool.Node) (bool, error) {
	vacant, err := c.look(ctx, node)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot drain a node that no NodeClaim owns", "instance", node.InstanceID, "node", node.Name)
	}
	if err != nil || !vacant {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.draining[node.InstanceID] = node
	}
	return vacant && err == nil, nil
}

func (c *Controller) look(ctx context.Context, node lkepool.Node) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, vacateTimeout)
	defer cancel()
	k8sNode, err := c.nodeOf(ctx, node)
	if err != nil || k8sNode == nil {
		return err == nil, err
	}
	return c.drainer.Vacate(ctx, k8sNode)
}

// nodeOf returns the instance's Node, nil if it has none. LKE names Nodes like their instances.
func (c *Controller) nodeOf(ctx context.Context, node lkepool.Node) (*corev1.Node, error) {
	if node.Name == "" {
		return nil, errors.New("the instance has no label, so its Node cannot be told")
	}
	found := &corev1.Node{}
	err := c.cached.Get(ctx, types.NamespacedName{Name: node.Name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", node.Name, err)
	}
	if id := v1alpha1.ProviderIDPrefix + strconv.Itoa(node.InstanceID); found.Spec.ProviderID != "" && found.Spec.ProviderID != id {
		return nil, fmt.Errorf("node %s has the provider ID %s, and its instance is %s", node.Name, found.Spec.ProviderID, id)
	}
	return found, nil
}
