package engine

import "time"

// Claimant is who a node is for: for Karpenter a NodeClaim.
type Claimant struct {
	// Name is unique in the cluster at any time.
	Name string
	// UID distinguishes two claimants of one name that follow each other. It may
	// be empty; then the name alone counts.
	UID string
}

// Request asks for one node.
type Request struct {
	// Claimant asking again gets the same node.
	Claimant Claimant
	Key      Key
	// PoolTags are identity tags: on the pool when it is created, and on the
	// claimed instance.
	PoolTags []string
	// Tags are the user's own, on the instance only.
	Tags []string
}

// Node is one instance of a pool, as the API showed it.
type Node struct {
	InstanceID int
	// NodeID is the platform's name for the pool member; "" while the pool
	// does not list it.
	NodeID string
	// PoolID is 0 for an instance that its pool has given up already.
	PoolID int
	// Name is the instance's label, which is the Kubernetes node name on LKE.
	Name         string
	InstanceType string
	Region       string
	// Status is the instance's, for example "running".
	Status string
	// Health reports whether the instance still serves its claimant.
	Health Health
	// Claim is ClaimValue of the claimant, "" for a free node.
	Claim string
	// Created is from the API, on its own clock.
	Created time.Time
	Tags    []string
	// Template is what the pool has now, which may differ from the key the
	// node was claimed with when another client edited the pool.
	Template
}

// Health is the engine's judgement of an instance.
type Health string

const (
	// Healthy: running, or young enough to be still on its way to running.
	Healthy Health = ""
	// Stopped: the instance is not running and has had time enough to boot.
	Stopped Health = "Stopped"
	// Detached: the instance exists, but its pool no longer lists it, because
	// the node was removed or recycled. It is about to vanish.
	Detached Health = "Detached"
	// Deleting: the platform reports the deletion.
	Deleting Health = "Deleting"
)

// Collected is what an orphan sweep did.
type Collected struct {
	// Released holds the nodes whose removal was accepted.
	Released []Node
	// Slots holds the node IDs of slots that no instance had taken, or whose
	// instance was gone.
	Slots []string
	// Pools holds the IDs of the pools that were deleted.
	Pools []int
}
