package cloudprovider

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// inventory keeps the last list of claimed nodes for a while. Core asks for the drift of every NodeClaim every
// five minutes, and at every step of a new one; one read per question would be the whole budget of requests of a
// large cluster.
type inventory struct {
	source  lister
	reading singleflight.Group

	mu      sync.Mutex
	nodes   map[int]lkepool.Node // never changed once it is here
	at      time.Time
	granted map[int]grant // claimed since the list was asked for
}

// lister lists the claimed nodes of the cluster.
type lister interface {
	List(ctx context.Context) ([]lkepool.Node, error)
}

// A grant is a node as its claim showed it.
type grant struct {
	node lkepool.Node
	at   time.Time
}

// How old a list may be to tell drift from it.
const inventoryTTL = time.Minute

func newInventory(source lister) *inventory {
	return &inventory{source: source, granted: map[int]grant{}}
}

// grant adds a node that was claimed just now: a list that is older does not have it.
func (i *inventory) grant(node lkepool.Node) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.granted[node.InstanceID] = grant{node, time.Now()}
}

// find looks for a node in the list, and among those that were claimed since.
func (i *inventory) find(ctx context.Context, id int) (node lkepool.Node, found bool, err error) {
	nodes, err := i.recent(ctx)
	if err != nil {
		return lkepool.Node{}, false, err
	}
	if node, found = nodes[id]; found {
		return node, true, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	g, found := i.granted[id]
	return g.node, found, nil
}

// claimOf looks for the instance of a claim among those that were claimed since the last list, and in that list.
func (i *inventory) claimOf(claim string) (id int, found bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id, g := range i.granted {
		if g.node.Claim == claim {
			return id, true
		}
	}
	for id, node := range i.nodes {
		if node.Claim == claim {
			return id, true
		}
	}
	return 0, false
}

// tags returns an instance's tags as the last list shows them, without reading one. It is not changed while that list is kept.
func (i *inventory) tags(id int) (tags []string, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	node, known := i.nodes[id]
	return node.Tags, known
}

// refresh reads the list now.
func (i *inventory) refresh(ctx context.Context) (map[int]lkepool.Node, error) {
	asked := time.Now()
	list, err := i.source.List(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make(map[int]lkepool.Node, len(list))
	for _, node := range list {
		nodes[node.InstanceID] = node
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.nodes, i.at = nodes, time.Now()
	for id, g := range i.granted {
		if g.at.Before(asked) { // the list has it, or it is gone
			delete(i.granted, id)
		}
	}
	return nodes, nil
}

// recent returns the list if it is young enough, and reads it otherwise. Those who ask at the same time share
// one read and its error; the lock is not held while it lasts.
func (i *inventory) recent(ctx context.Context) (map[int]lkepool.Node, error) {
	for {
		if nodes := i.young(); nodes != nil {
			return nodes, nil
		}
		read := i.reading.DoChan("", func() (any, error) {
			if nodes := i.young(); nodes != nil { // another caller has read it since
				return nodes, nil
			}
			return i.refresh(ctx)
		})
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case shared := <-read:
			if errors.Is(shared.Err, context.Canceled) && ctx.Err() == nil {
				continue // the caller that read has left; that proves nothing about the list
			}
			nodes, _ := shared.Val.(map[int]lkepool.Node)
			return nodes, shared.Err
		}
	}
}

// young returns the list, nil if it is too old.
func (i *inventory) young() map[int]lkepool.Node {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Since(i.at) < inventoryTTL {
		return i.nodes
	}
	return nil
}
