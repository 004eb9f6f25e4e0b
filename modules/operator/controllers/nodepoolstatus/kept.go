package nodepoolstatus

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/leaving"
)

// kept returns a message about empty nodes that stay because other nodes use up the disruption budgets, "" if no empty node stays for
// this. It reads PodDisruptionBudgets and pods, with core's index of pods by node, only if nodes that leave or are not ready use up the
// budgets.
func (c *Controller) kept(ctx context.Context, nodePool *karpv1.NodePool) (string, error) {
	of := client.MatchingLabels{karpv1.NodePoolLabelKey: nodePool.Name}
	claims, nodes := &karpv1.NodeClaimList{}, &corev1.NodeList{}
	for _, list := range []client.ObjectList{claims, nodes} {
		if err := c.kube.List(ctx, list, of, client.UnsafeDisableDeepCopy); err != nil {
			return "", fmt.Errorf("listing the nodes of NodePool %s: %w", nodePool.Name, err)
		}
	}
	clk, none := clock.RealClock{}, func(string) []*corev1.Pod { return nil }
	members := leaving.Members(nodePool.Name, pointers(claims.Items), pointers(nodes.Items), none)
	if use, err := leaving.Of(nodePool, members, nil, clk); err != nil || !use.Exhausted() {
		return "", nil //nolint:nilerr // core refuses a NodePool with budgets that cannot be read
	}
	limits, err := leaving.LimitsOf(ctx, c.kube)
	if err != nil {
		return "", fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	for i := range members {
		pods := &corev1.PodList{}
		if err := c.kube.List(ctx, pods, client.MatchingFields{"spec.nodeName": members[i].Node.Name}); err != nil {
			return "", fmt.Errorf("listing the pods of node %s: %w", members[i].Node.Name, err)
		}
		members[i].Pods = pointers(pods.Items)
	}
	use, err := leaving.Of(nodePool, members, limits, clk)
	return use.Kept(clk.Now()), err
}

func pointers[T any](list []T) []*T {
	all := make([]*T, 0, len(list))
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}
