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

// Stop ends all parts in the reverse order of their start, and returns when they have
// ended. This takes some seconds; when ctx ends, Stop kills the programs at once. Stop
// may be called again.
func (c *Cluster) Stop(ctx context.Context) {
	c.end.once.Do(func() {
		for i := len(c.end.closers) - 1; i >= 0; i-- {
			c.end.closers[i](ctx)
		}
	})
}
