package localcluster

import (
	"context"
	"sync"
)

// ending collects the steps of Stop.
type ending struct {
	once    sync.Once
	closers []func(context.Context) // run in reverse
}

func (c *Cluster) onStop(do func(context.Context)) { c.end.closers = append(c.end.closers, do) }

// Stop ends everything in the reverse order of its start and returns when all of
// it has ended: within seconds, at once when ctx ends. It may be called again.
func (c *Cluster) Stop(ctx context.Context) {
	c.end.once.Do(func() {
		for i := len(c.end.closers) - 1; i >= 0; i-- {
			c.end.closers[i](ctx)
		}
	})
}
