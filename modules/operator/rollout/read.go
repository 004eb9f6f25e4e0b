package rollout

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Read reads the NodeClaims and the class of a NodePool from a cluster, and returns the progress of the NodePool's rollout.
func Read(ctx context.Context, kube client.Reader, nodePool *karpv1.NodePool) (Progress, error) {
	list := &karpv1.NodeClaimList{}
	if err := kube.List(ctx, list, client.MatchingLabels{karpv1.NodePoolLabelKey: nodePool.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return Progress{}, fmt.Errorf("listing the NodeClaims of NodePool %s: %w", nodePool.Name, err)
	}
	claims := make([]*karpv1.NodeClaim, len(list.Items))
	for i := range list.Items {
		claims[i] = &list.Items[i]
	}
	classes := &v1alpha1.LinodeNodeClassList{} // a list, because the operator has no right to get single objects
	if err := kube.List(ctx, classes, client.UnsafeDisableDeepCopy); err != nil {
		return Progress{}, fmt.Errorf("listing LinodeNodeClasses: %w", err)
	}
	var class *v1alpha1.LinodeNodeClass
	for i := range classes.Items {
		if classes.Items[i].Name == nodePool.Spec.Template.Spec.NodeClassRef.Name {
			class = &classes.Items[i]
		}
	}
	return Of(nodePool, class, claims), nil
}
