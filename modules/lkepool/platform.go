package lkepool

import "time"

// Limits are the numbers of a platform.
type Limits struct {
	// PoolSize is the largest count of one pool.
	PoolSize int
	// NodesLag reports that a pool's node list may lack new members for a minute,
	// and that instances name their pool themselves. The engine then sees arrivals
	// in the list of instances, otherwise in the pool.
	NodesLag bool
}

// Pool represents one pool of the cluster, as a Backend reads it.
type Pool struct {
	ID int
	// Count is the size that the platform keeps the pool at.
	Count        int
	InstanceType string
	Template     Template
	Tags         []string
	// Autoscaled reports that the platform's own autoscaler changes the count.
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

// Instance represents a virtual machine, as a Backend reads it.
type Instance struct {
	ID           int
	Name         string
	InstanceType string
	Region       string
	Status       string
	State        State
	Tags         []string
	// Created is returned to callers; no age is measured from it.
	Created time.Time
	// PoolID is the pool that the instance itself names, 0 if it names none.
	PoolID int
	// Foreign reports that the instance does not belong to this cluster.
	Foreign bool
}

// State classifies a platform's status of an instance.
type State int

const (
	// Up instances run, are starting, or are busy with a job after which they run
	// again.
	Up State = iota
	// Down instances do not run. A young instance is Down before its first boot.
	Down
	// Leaving instances are being deleted.
	Leaving
)
