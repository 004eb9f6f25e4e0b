package mode

import (
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// LastRead caches the latest API state of each claimed instance, for fields that claims.Node lacks. It is safe for concurrent use.
type LastRead[T any] struct {
	node func(T) claims.Node

	mu   sync.Mutex
	byID map[int]T
}

// NewLastRead returns an empty cache. node returns the fields that all modes share.
func NewLastRead[T any](node func(T) claims.Node) *LastRead[T] {
	return &LastRead[T]{node: node, byID: map[int]T{}}
}

// Node stores a reading of one instance.
func (l *LastRead[T]) Node(read T) claims.Node {
	node := l.node(read)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[node.InstanceID] = read
	return node
}

// Nodes stores a list, and forgets instances that the list lacks.
func (l *LastRead[T]) Nodes(list []T) []claims.Node {
	nodes, byID := make([]claims.Node, 0, len(list)), make(map[int]T, len(list))
	for _, read := range list {
		node := l.node(read)
		nodes, byID[node.InstanceID] = append(nodes, node), read
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID = byID
	return nodes
}

// Any returns whether the latest state of some instance is one that is looked for.
func (l *LastRead[T]) Any(is func(T) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, read := range l.byID {
		if is(read) {
			return true
		}
	}
	return false
}

// Get returns the latest state of an instance, false if none is stored.
func (l *LastRead[T]) Get(instanceID int) (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	read, known := l.byID[instanceID]
	return read, known
}
