package registrationtaint

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

func poolOf(node *corev1.Node) (id int, labelled bool) {
	id, err := strconv.Atoi(node.Labels[PoolIDLabel])
	return id, err == nil && id > 0
}

// ours returns whether a Node without NodeClaim belongs to one of our pools.
func (c *Controller) ours(ctx context.Context, node *corev1.Node, labelled bool) (bool, error) {
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider }) {
		return labelled, nil // before it is initialized no pod can be there, so a taint harms none; afterwards a read would come too late
	}
	id, err := nodeclaim.InstanceID(node.Spec.ProviderID)
	if err == nil {
		instance, err := c.instance(ctx, id, labelled)
		return instance != nil && agrees(node, *instance), err
	}
	if !labelled {
		c.unidentified(ctx, node)
	}
	return labelled, nil
}

// instance reads an instance. It returns nil if the instance is not ours. If the Node gets its label later, the instance is read again.
func (c *Controller) instance(ctx context.Context, id int, labelled bool) (*lkepool.Node, error) {
	key := fmt.Sprint(id, labelled)
	if _, foreign := c.foreign.Get(key); foreign {
		return nil, nil
	}
	instance, err := c.pools.Get(ctx, id)
	switch claims.KindOf(err) {
	case claims.KindConflict, claims.KindNotFound:
		c.foreign.Set(key, true, foreignMemory)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading instance %d: %w", id, err)
	}
	return &instance, nil
}

// agrees returns whether a Node's label and name match its instance.
func agrees(node *corev1.Node, instance lkepool.Node) bool {
	poolID, labelled := poolOf(node)
	return (!labelled || poolID == instance.PoolID) && (instance.Name == "" || instance.Name == node.Name)
}

// unidentified reports a Node of the cluster that cannot be protected, once for each Node.
func (c *Controller) unidentified(ctx context.Context, node *corev1.Node) {
	if _, reported := c.foreign.Get(node.UID); reported || !strings.HasPrefix(node.Name, fmt.Sprintf("lke%d-", c.cfg.Cluster)) {
		return
	}
	c.foreign.Set(node.UID, true, 24*time.Hour)
	c.cfg.OnUnidentified()
	c.recorder.Publish(events.Event{
		InvolvedObject: node, Type: corev1.EventTypeWarning, Reason: "NodeNotIdentified",
		Message: "The node has neither a provider ID nor the label " + PoolIDLabel + ": the operator cannot keep pods off it before a " +
			"NodeClaim takes it",
	})
	log.FromContext(ctx).Info("a node has neither a provider ID nor the label of its pool", "node", node.Name)
}
