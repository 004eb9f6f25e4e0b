package lkepool

import (
	"context"
	"time"
)

// Backend is a platform that offers pools of nodes and nothing finer than
// "make this pool larger". It decides nothing. All methods are safe for
// concurrent use, return *Error, and honour the context.
type Backend interface {
	Reader
	Writer
	Rules
}

// Reader reads the platform's state.
type Reader interface {
	// Observe reads all pools of the cluster and the instances of ours, with a
	// number of requests that does not depend on the number of nodes.
	Observe(ctx context.Context) (Observation, error)
	// Poll reads again only what tells whether capacity has arrived in the
	// given pools, which come from an earlier answer. A pool that is gone is
	// left out. It may leave Pool.Count as it was given.
	Poll(ctx context.Context, pools []Pool) ([]Pool, error)
	// Pool reads one pool's authoritative count and nodes; Members is empty.
	// KindNotFound when the pool does not exist.
	Pool(ctx context.Context, id int) (Pool, error)
	// Instance reads one instance; KindNotFound only on proof.
	Instance(ctx context.Context, id int) (Instance, error)
}

// Writer changes the platform's state. An error that leaves open whether the
// change happened has Ambiguous set or is of KindUnavailable.
type Writer interface {
	// Create makes a pool of spec.Count nodes.
	Create(ctx context.Context, spec PoolSpec) (Pool, error)
	// Scale sets the pool's count.
	Scale(ctx context.Context, poolID, count int) (Pool, error)
	// Mark replaces the instance's tags and returns the instance as stored.
	Mark(ctx context.Context, instanceID int, tags []string) (Instance, error)
	// Remove removes one node and lowers the pool's count by one. A node that
	// is gone already is no error.
	Remove(ctx context.Context, poolID int, nodeID string) error
	// Drop deletes a pool and all of its nodes. A pool that is gone already is
	// no error.
	Drop(ctx context.Context, poolID int) error
}

// Rules are the platform's limits, known without asking it.
type Rules interface {
	Limits() Limits
	// Check refuses a key that the platform would refuse: KindInvalid.
	Check(key Key) error
	// ReservedTag says whether the platform itself sets and needs this tag.
	ReservedTag(tag string) bool
}

// Limits are the numbers of a platform.
type Limits struct {
	// PoolSize is the largest count of one pool.
	PoolSize int
	// NodesLag says that a pool's node list may miss members that exist, so
	// that a missing one may be arriving or leaving.
	NodesLag bool
	// CheapPolls says that a poll of few pools is no list. Platforms allow fewer
	// lists than single reads.
	CheapPolls bool
}

// PoolSpec describes a pool to be created.
type PoolSpec struct {
	Key   Key
	Tags  []string
	Count int
}

// Pool is one pool of the cluster.
type Pool struct {
	ID int
	// Count is the size that the platform keeps the pool at.
	Count        int
	InstanceType string
	Template     Template
	Tags         []string
	// Autoscaled says that the platform's own autoscaler changes the count.
	Autoscaled bool
	// Slots are the nodes that the pool itself lists.
	Slots []Slot
	// Members are the instances known to belong to the pool, each once.
	Members []Member
}

// Slot is a place in a pool.
type Slot struct {
	NodeID string
	// InstanceID is 0 until the instance exists.
	InstanceID int
}

// Member is an instance of a pool.
type Member struct {
	// NodeID is "" while the pool does not list the instance.
	NodeID string
	// Unread: only the ID is known, of an instance so new that nobody can have
	// claimed it.
	Unread bool
	Instance
}

// Instance is a virtual machine.
type Instance struct {
	ID           int
	Name         string
	InstanceType string
	Region       string
	Status       string
	State        State
	Tags         []string
	Created      time.Time
	// PoolID is the pool that the instance itself names, 0 if it names none.
	PoolID int
	// Foreign says that the instance is not of this cluster.
	Foreign bool
}

// State is what a platform's status means to the engine.
type State int

const (
	// Up: running, or on its way to it, or busy with something that ends there.
	Up State = iota
	// Down: not running; a young instance is down before its first boot.
	Down
	// Leaving: being deleted.
	Leaving
)

// Observation is one reading of the cluster.
type Observation struct {
	// Pools are all pools of the cluster, those of other owners included, so
	// that their nodes are recognised and left alone.
	Pools []Pool
	// Loose are instances of this cluster that no pool of the observation has
	// as a member.
	Loose []Instance
}
