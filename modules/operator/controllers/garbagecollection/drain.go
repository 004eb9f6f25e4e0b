package garbagecollection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
)

const (
	// drainPause is the time between two looks at the Nodes that are being drained.
	drainPause = 2 * time.Second
	// vacateTimeout bounds one look at the Nodes of one instance.
	vacateTimeout = 30 * time.Second
	// soonestJoin is shorter than the time that any Linode needs to boot and join.
	soonestJoin = 10 * time.Second
	// identified is longer than the time in which a working cloud controller manager sets the provider ID of a new Node.
	identified = 2 * time.Minute

	nodePoolTag = v1alpha1.TagNodePool + "="
)

// pause returns the time until the next look.
func (c *Controller) pause(wait time.Duration) time.Duration {
	if len(c.draining) > 0 {
		return min(wait, drainPause)
	}
	return wait
}

// emptied continues to drain the instances that the last sweep could not release, and returns whether one of them may go now. The next
// sweep checks this again. The Drainer does not drain an instance that has got a NodeClaim in the meantime, and does not count it as
// empty.
func (c *Controller) emptied(ctx context.Context) bool {
	empty := false
	for _, node := range c.draining {
		vacant, err := c.look(ctx, node)
		// The next sweep logs the error.
		empty = empty || vacant && err == nil
	}
	return empty
}

// vacate implements claims.Sweep.Vacate, which the engine calls for several nodes at once. vacate logs an error of the Kubernetes API and
// returns none: otherwise the sweep, which costs requests to the Linode API, would be repeated at once.
func (c *Controller) vacate(ctx context.Context, node claims.Node) (bool, error) {
	vacant, err := c.look(ctx, node)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot drain a node that no NodeClaim owns", "instance", node.InstanceID, "node", node.Name)
	}
	if err != nil || !vacant {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.draining = append(c.draining, node)
	}
	return vacant && err == nil, nil
}

func (c *Controller) look(ctx context.Context, node claims.Node) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, vacateTimeout)
	defer cancel()
	nodes, err := controllers.NodesOf(ctx, c.cached, node)
	if err != nil {
		return false, err
	}
	if len(nodes) == 0 {
		return c.joined(ctx, node)
	}
	deadline, err := c.deadline(ctx, node)
	if err != nil {
		return false, err
	}
	vacant := true
	for i := range nodes {
		empty, err := c.drainer.Vacate(ctx, &nodes[i], deadline)
		if err != nil {
			return false, err
		}
		vacant = vacant && empty
	}
	return vacant, nil
}

// joined returns whether an instance without Node may go. It returns false while a Node without provider ID and with another name could be
// the instance's Node. It returns an error if such a Node is older than two minutes: then the cloud controller manager seems not to work.
func (c *Controller) joined(ctx context.Context, node claims.Node) (bool, error) {
	list := &corev1.NodeList{}
	if err := c.cached.List(ctx, list, client.MatchingFields{"spec.providerID": ""}); err != nil {
		return false, fmt.Errorf("listing the nodes without provider ID: %w", err)
	}
	for i := range list.Items {
		of := &list.Items[i]
		switch {
		case !c.couldBe(of, node):
			continue
		case time.Since(of.CreationTimestamp.Time) > identified:
			return false, fmt.Errorf("node %s has had no provider ID for more than %s and may belong to instance %s: check the cloud controller "+
				"manager", of.Name, identified, node.Name)
		}
		return false, nil
	}
	return true, nil
}

// couldBe returns whether a Node without provider ID may run on an instance: no label of the Node contradicts it, and the Node was created
// at least soonestJoin after the instance. Example: the instance was created at 12:00:00; a Node of 12:00:05 cannot be its Node.
func (c *Controller) couldBe(k8sNode *corev1.Node, node claims.Node) bool {
	known := map[string]string{}
	if c.cfg.NodeLabels != nil {
		maps.Copy(known, c.cfg.NodeLabels(node.InstanceID))
	}
	known[corev1.LabelInstanceTypeStable] = node.InstanceType
	for label, value := range known {
		if is := k8sNode.Labels[label]; is != "" && is != value {
			return false
		}
	}
	return !k8sNode.CreationTimestamp.Time.Before(node.Created.Add(soonestJoin))
}

// deadline returns for how long pods may keep an instance: the terminationGracePeriod of its NodePool, or else Config.DrainTimeout.
func (c *Controller) deadline(ctx context.Context, node claims.Node) (time.Duration, error) {
	i := slices.IndexFunc(node.Tags, func(tag string) bool { return strings.HasPrefix(tag, nodePoolTag) })
	if i < 0 {
		return c.cfg.DrainTimeout, nil
	}
	nodePool := &karpv1.NodePool{}
	err := c.cached.Get(ctx, types.NamespacedName{Name: strings.TrimPrefix(node.Tags[i], nodePoolTag)}, nodePool)
	if grace := nodePool.Spec.Template.Spec.TerminationGracePeriod; err == nil && grace != nil {
		return grace.Duration, nil
	}
	return c.cfg.DrainTimeout, client.IgnoreNotFound(err)
}
