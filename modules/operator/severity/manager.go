package severity

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Manager returns a manager whose controllers, and whose elector, write through a [Logger]. Call it before any controller
// is made from the manager, and start what it returns.
func Manager(mgr manager.Manager) (manager.Manager, error) {
	e := &end{}
	if err := mgr.Add(e); err != nil {
		return nil, fmt.Errorf("adding the watch on the manager's end: %w", err)
	}
	return wrapped{mgr, Logger(mgr.GetLogger(), e.begun)}, nil
}

type wrapped struct {
	manager.Manager
	logger logr.Logger
}

// GetLogger is where controller-runtime's builder takes the logger of a controller from.
func (w wrapped) GetLogger() logr.Logger { return w.logger }

// GetControllerOptions has the logger of controllers that are made without the builder, and of all queues.
func (w wrapped) GetControllerOptions() config.Controller {
	options := w.Manager.GetControllerOptions()
	options.Logger = w.logger
	return options
}

// Start gives client-go's elector the logger, which takes it from its context.
func (w wrapped) Start(ctx context.Context) error {
	return w.Manager.Start(log.IntoContext(ctx, w.logger))
}

// end knows whether the manager has begun to stop, whatever made it. It runs among those that wait for no election,
// which are told first: before any reconcile is interrupted.
type end struct {
	done atomic.Pointer[<-chan struct{}]
}

// Start implements manager.Runnable.
func (e *end) Start(ctx context.Context) error {
	done := ctx.Done()
	e.done.Store(&done)
	<-done
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (e *end) NeedLeaderElection() bool { return false }

func (e *end) begun() bool {
	done := e.done.Load()
	if done == nil {
		return false // nothing runs yet
	}
	select {
	case <-*done:
		return true
	default:
		return false
	}
}
