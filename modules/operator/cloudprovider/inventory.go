package cloudprovider

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Inventory keeps the claimed nodes as they were read last: by a list, by their claim or alone. Core checks the drift of every NodeClaim
// every five minutes, and at every step of a new one; one read per check would be the whole budget of requests of a large cluster. Modes
// ask it for what a node is named or whose it is, without a request. It is safe for concurrent use.
type Inventory struct {
	mu    sync.Mutex
	nodes map[int]known
	at    time.Time // of the last list
}

// known is a node, and when it was requested.
type known struct {
	Node
	at time.Time
}

// How old a list may be to tell drift from it.
const inventoryTTL = time.Minute

// NewInventory returns an empty Inventory.
func NewInventory() *Inventory { return &Inventory{nodes: map[int]known{}} }

// Note stores a node that was read or claimed just now: a list that is older does not have it.
func (i *Inventory) Note(node Node) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.nodes[node.InstanceID] = known{node, time.Now()}
}

// Known returns an instance from the last reading, and false if no reading of this cluster has the instance. The returned value never
// changes.
func (i *Inventory) Known(instanceID int) (Node, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	found, is := i.nodes[instanceID]
	return found.Node, is
}

// Named returns whether some instance has the name.
func (i *Inventory) Named(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, k := range i.nodes {
		if k.Name == name {
			return true
		}
	}
	return false
}

// take stores a list that was requested at a time, and forgets instances that it lacks.
func (i *Inventory) take(list []Node, asked time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.nodes, func(_ int, k known) bool { return k.at.Before(asked) })
	for _, node := range list {
		i.nodes[node.InstanceID] = known{node, asked}
	}
	i.at = time.Now()
}

func (i *Inventory) young() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return time.Since(i.at) < inventoryTTL
}

// reader fills an Inventory from a Backend.
type reader struct {
	*Inventory
	backend Backend
	reading singleflight.Group
}

// node returns a node from memory, and reads it alone only if it is not there.
func (r *reader) node(ctx context.Context, id int) (Node, error) {
	if err := r.refreshOld(ctx); err != nil {
		return Node{}, err
	}
	if found, is := r.Known(id); is {
		return found, nil
	}
	return r.get(ctx, id)
}

// get reads one node now.
func (r *reader) get(ctx context.Context, id int) (Node, error) {
	node, err := r.backend.Get(ctx, id)
	if err == nil {
		r.Note(node)
	}
	return node, err
}

// list reads the list now.
func (r *reader) list(ctx context.Context) ([]Node, error) {
	asked := time.Now()
	list, err := r.backend.List(ctx)
	if err == nil {
		r.take(list, asked)
	}
	return list, err
}

// refreshOld reads the list if it is too old. Callers at the same time share one read and its error; the lock is not held while it lasts.
func (r *reader) refreshOld(ctx context.Context) error {
	for !r.young() {
		read := r.reading.DoChan("", func() (any, error) {
			if r.young() { // another caller has read it since
				return nil, nil
			}
			return r.list(ctx)
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
