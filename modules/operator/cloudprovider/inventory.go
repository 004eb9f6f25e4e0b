package cloudprovider

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// inventory keeps the last list of claimed nodes, and the nodes that were claimed since. Core checks the drift of every NodeClaim every
// five minutes, and at every step of a new one; one read per check would be the whole budget of requests of a large cluster.
type inventory struct {
	backend Backend
	reading singleflight.Group

	mu    sync.Mutex
	nodes map[int]known
	at    time.Time // of the last list
}

// known is a node as a list or its claim showed it, and when that was requested.
type known struct {
	claims.Node
	at time.Time
}

// How old a list may be to tell drift from it.
const inventoryTTL = time.Minute

func newInventory(backend Backend) *inventory {
	return &inventory{backend: backend, nodes: map[int]known{}}
}

// grant adds a node that was claimed just now: a list that is older does not have it.
func (i *inventory) grant(node claims.Node) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.nodes[node.InstanceID] = known{node, time.Now()}
}

// node returns a node from memory, and reads it alone only if it is not there.
func (i *inventory) node(ctx context.Context, id int) (claims.Node, error) {
	if err := i.refreshOld(ctx); err != nil {
		return claims.Node{}, err
	}
	i.mu.Lock()
	found, ok := i.nodes[id]
	i.mu.Unlock()
	if ok {
		return found.Node, nil
	}
	return i.backend.Get(ctx, id)
}

// tags returns an instance's tags as the last list shows them, without reading one. It is not changed while that list is kept.
func (i *inventory) tags(id int) (tags []string, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	node, known := i.nodes[id]
	return node.Tags, known
}

// refresh reads the list now.
func (i *inventory) refresh(ctx context.Context) ([]claims.Node, error) {
	asked := time.Now()
	list, err := i.backend.List(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.nodes, func(_ int, k known) bool { return k.at.Before(asked) })
	for _, node := range list {
		i.nodes[node.InstanceID] = known{node, asked}
	}
	i.at = time.Now()
	return list, nil
}

// refreshOld reads the list if it is too old. Callers at the same time share one read and its error; the lock is not held while it lasts.
func (i *inventory) refreshOld(ctx context.Context) error {
	for !i.young() {
		read := i.reading.DoChan("", func() (any, error) {
			if i.young() { // another caller has read it since
				return nil, nil
			}
			return i.refresh(ctx)
		})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case shared := <-read:
			if errors.Is(shared.Err, context.Canceled) && ctx.Err() == nil {
				continue // the caller that read has left; that proves nothing about the list
			}
			return shared.Err
		}
	}
	return nil
}

func (i *inventory) young() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return time.Since(i.at) < inventoryTTL
}
