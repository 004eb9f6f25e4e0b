package cloudprovider

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Inventory keeps the claimed nodes as they were read last: by a list, by a claim or by a read of one node. Core checks the drift of every
// NodeClaim every five minutes, and at every step of a new NodeClaim. With one request for each check, a large cluster would use up its
// budget of requests. Modes look up the name or the NodeClaim of a node here, without a request. It is safe for concurrent use.
type Inventory struct {
	mu    sync.Mutex
	nodes map[int]known
	at    time.Time // of the last list
}

// known is a node with the time of its request.
type known struct {
	Node
	at time.Time
}

// inventoryTTL is the age up to which a list serves the check of drift.
const inventoryTTL = time.Minute

// NewInventory returns an empty Inventory.
func NewInventory() *Inventory { return &Inventory{nodes: map[int]known{}} }

// Note stores a node that was read or claimed just now, which an older list may lack.
func (i *Inventory) Note(node Node) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.nodes[node.InstanceID] = known{node, time.Now()}
}

// Known returns an instance as it was last read, and false if no reading shows the instance. The returned value never changes.
func (i *Inventory) Known(instanceID int) (Node, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	found, is := i.nodes[instanceID]
	return found.Node, is
}

// Named returns whether a known instance has the name.
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

// take stores a list that was requested at the time asked. It forgets instances that the list lacks, unless they were noted after asked:
// a node noted at 12:00:05 stays although a list of 12:00:04 lacks it.
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

// node returns a node from memory. It reads the list first if the list is too old, and reads the node alone if memory lacks it.
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

// refreshOld reads the list if it is too old. Concurrent callers share one read and its error. The read does not hold the lock.
func (r *reader) refreshOld(ctx context.Context) error {
	for !r.young() {
		read := r.reading.DoChan("", func() (any, error) {
			if r.young() { // another caller has read the list meanwhile
				return nil, nil
			}
			return r.list(ctx)
		})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case shared := <-read:
			if errors.Is(shared.Err, context.Canceled) && ctx.Err() == nil {
				continue // the caller whose context the read used has given up; this is no failure of the list
			}
			return shared.Err
		}
	}
	return nil
}
