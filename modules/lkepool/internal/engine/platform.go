package engine

import "time"

// Limits are the numbers of a platform.
type Limits struct {
	// PoolSize is the largest count of one pool.
	PoolSize int
	// NodesLag: a pool's node list may lack new members for a minute, and
	// instances name their pool themselves. Then arrivals are seen in the list
	// of instances, otherwise in the pool.
	NodesLag bool
}

// Pool is one pool of the cluster.
type Pool struct {
	ID int
	// Count is the size that the platform keeps the pool at.
	Count        int
	InstanceType string
	Template     Template
	Tags         []string
	// Autoscaled: the platform's own autoscaler changes the count.
	Autoscaled bool
	// Slots are the nodes that the pool lists.
	Slots []Slot
}

// Slot is the position of one node in a pool.
type Slot struct {
	NodeID string
	// InstanceID is 0 until the instance exists.
	InstanceID int
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
	// Created is shown to callers; no age is measured from it.
	Created time.Time
	// PoolID is the pool that the instance itself names, 0 if it names none.
	PoolID int
	// Foreign: the instance is not of this cluster.
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
