package cloudprovider

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// missingClasses holds the NodePools whose LinodeNodeClass does not exist, with its name, so that the log has a line when that
// changes and not at each of core's questions.
type missingClasses struct{ byNodePool sync.Map }

func (m *missingClasses) note(ctx context.Context, nodePool *karpv1.NodePool, missing bool) {
	name := nodePool.Spec.Template.Spec.NodeClassRef.Name
	logger := log.FromContext(ctx).WithValues("NodePool", nodePool.Name, "LinodeNodeClass", name)
	if missing {
		if was, _ := m.byNodePool.Swap(nodePool.Name, name); was != name {
			logger.Error(nil, "the LinodeNodeClass of a NodePool does not exist; it gets no nodes")
		}
	} else if _, was := m.byNodePool.LoadAndDelete(nodePool.Name); was {
		logger.Info("the LinodeNodeClass of a NodePool exists now")
	}
}
