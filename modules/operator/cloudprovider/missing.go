package cloudprovider

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// missingClasses holds the NodePools whose LinodeNodeClass does not exist, with its name, so that the log has a line when that
// changes and not at each of core's questions.
type missingClasses struct {
	mu    sync.Mutex
	class map[string]string // by NodePool
}

func (m *missingClasses) note(ctx context.Context, nodePool *karpv1.NodePool, missing bool) {
	name := nodePool.Spec.Template.Spec.NodeClassRef.Name
	m.mu.Lock()
	was := m.class[nodePool.Name]
	switch {
	case !missing:
		delete(m.class, nodePool.Name)
	case m.class == nil:
		m.class = map[string]string{nodePool.Name: name}
	default:
		m.class[nodePool.Name] = name
	}
	m.mu.Unlock()
	logger := log.FromContext(ctx).WithValues("NodePool", nodePool.Name, "LinodeNodeClass", name)
	switch {
	case missing && was != name:
		logger.Error(nil, "the LinodeNodeClass of a NodePool does not exist; it gets no nodes")
	case !missing && was != "":
		logger.Info("the LinodeNodeClass of a NodePool exists now")
	}
}
