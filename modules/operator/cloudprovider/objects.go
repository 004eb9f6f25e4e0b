package cloudprovider

import (
	"context"
	"errors"
	"fmt"

	"github.com/awslabs/operatorpkg/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// readyNodeClass returns the NodeClaim's LinodeNodeClass if nodes may be made from it.
func (c *CloudProvider) readyNodeClass(ctx context.Context, nodeClaim *karpv1.NodeClaim) (*v1alpha1.LinodeNodeClass, error) {
	if nodeClaim.Spec.NodeClassRef == nil {
		return nil, cloudprovider.NewNodeClassNotReadyError(errors.New("the NodeClaim names no LinodeNodeClass"))
	}
	name := nodeClaim.Spec.NodeClassRef.Name
	nodeClass := &v1alpha1.LinodeNodeClass{}
	switch err := c.kube.Get(ctx, types.NamespacedName{Name: name}, nodeClass); {
	case apierrors.IsNotFound(err):
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %s does not exist", name))
	case err != nil:
		return nil, fmt.Errorf("reading LinodeNodeClass %s: %w", name, err)
	case !nodeClass.DeletionTimestamp.IsZero():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %s is being deleted", name))
	}
	switch ready := nodeClass.StatusConditions().Get(status.ConditionReady); {
	case ready.IsTrue():
		return nodeClass, nil
	case ready.IsFalse():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %s: %s", name, ready.Message))
	default:
		// It has just been made or changed; core asks again.
		return nil, cloudprovider.NewCreateError(fmt.Errorf("LinodeNodeClass %s is not checked yet", name),
			"NodeClassReadinessUnknown", "The LinodeNodeClass is not checked yet")
	}
}

// nodePoolOf returns the NodeClaim's NodePool, nil if it has none or none any more.
func (c *CloudProvider) nodePoolOf(ctx context.Context, nodeClaim *karpv1.NodeClaim) (*karpv1.NodePool, error) {
	name := nodeClaim.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return nil, nil
	}
	nodePool := &karpv1.NodePool{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: name}, nodePool); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading NodePool %s: %w", name, err)
	}
	return nodePool, nil
}
