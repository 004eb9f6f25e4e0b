package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/awslabs/operatorpkg/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// objects reads the Kubernetes objects from which a launch is made.
type objects struct {
	kube    client.Reader
	missing sync.Map // by the NodePool's name: the name of its LinodeNodeClass, if the class does not exist
}

// read reads a cluster-scoped object, and returns whether it exists.
func (o *objects) read(ctx context.Context, kind, name string, into client.Object) (exists bool, err error) {
	switch err := o.kube.Get(ctx, types.NamespacedName{Name: name}, into); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return true, nil
}

// readyNodeClass returns the NodeClaim's LinodeNodeClass if nodes may be made from it.
func (o *objects) readyNodeClass(ctx context.Context, nodeClaim *karpv1.NodeClaim) (*v1alpha1.LinodeNodeClass, error) {
	if nodeClaim.Spec.NodeClassRef == nil {
		return nil, cloudprovider.NewNodeClassNotReadyError(errors.New("the NodeClaim names no LinodeNodeClass"))
	}
	name, nodeClass := nodeClaim.Spec.NodeClassRef.Name, &v1alpha1.LinodeNodeClass{}
	exists, err := o.read(ctx, v1alpha1.Kind, name, nodeClass)
	switch {
	case err != nil:
		return nil, err
	case !exists:
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %s does not exist", name))
	case !nodeClass.DeletionTimestamp.IsZero():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %s is being deleted", name))
	}
	switch ready := nodeClass.StatusConditions().Get(status.ConditionReady); {
	case ready.IsTrue():
		return nodeClass, nil
	case ready.IsFalse():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %s: %s", name, ready.Message))
	}
	// A user has just made or changed the class; core calls Create again.
	return nil, cloudprovider.NewCreateError(fmt.Errorf("LinodeNodeClass %s is not checked yet", name),
		"NodeClassReadinessUnknown", "The LinodeNodeClass is not checked yet")
}

// nodePoolOf returns the NodeClaim's NodePool, nil if the NodeClaim names no NodePool or the NodePool does not exist.
func (o *objects) nodePoolOf(ctx context.Context, nodeClaim *karpv1.NodeClaim) (*karpv1.NodePool, error) {
	name, nodePool := nodeClaim.Labels[karpv1.NodePoolLabelKey], &karpv1.NodePool{}
	if name == "" {
		return nil, nil
	}
	if exists, err := o.read(ctx, "NodePool", name, nodePool); err != nil || !exists {
		return nil, err
	}
	return nodePool, nil
}

// noteClass logs when the LinodeNodeClass of a NodePool goes missing or exists again. It does not log at each of core's calls.
func (o *objects) noteClass(ctx context.Context, nodePool *karpv1.NodePool, exists bool) {
	name := nodePool.Spec.Template.Spec.NodeClassRef.Name
	logger := log.FromContext(ctx).WithValues("NodePool", nodePool.Name, v1alpha1.Kind, name)
	if exists {
		if _, was := o.missing.LoadAndDelete(nodePool.Name); was {
			logger.Info("the LinodeNodeClass of a NodePool exists now")
		}
	} else if was, _ := o.missing.Swap(nodePool.Name, name); was != name {
		logger.Error(nil, "the LinodeNodeClass of a NodePool does not exist; the NodePool gets no nodes")
	}
}

// classOf returns the NodePool's class, nil if the class does not exist or cannot be read.
func (o *objects) classOf(ctx context.Context, nodePool *karpv1.NodePool) *v1alpha1.LinodeNodeClass {
	ref, nodeClass := nodePool.Spec.Template.Spec.NodeClassRef, &v1alpha1.LinodeNodeClass{}
	if ref == nil {
		return nil
	}
	if exists, err := o.read(ctx, v1alpha1.Kind, ref.Name, nodeClass); err != nil || !exists {
		return nil
	}
	return nodeClass
}
