package claims

import "time"

// Observer contains hooks, each of which may be nil. They are called synchronously
// from several goroutines, and must not call the engine.
type Observer struct {
	// Action is called when a request to the platform ends.
	Action func(ActionEnd)
	// Claim is called when a claimant's call for a node ends.
	Claim func(ClaimEnd)
}

// ActionEnd describes one request to the platform that ended. A list of several
// pages counts as one.
type ActionEnd struct {
	// Op names the request, for example "scale pool", and Reason its cause.
	Op, Reason string
	// NodePool and InstanceType are set for purchases and claims where known.
	NodePool, InstanceType string
	// PoolID is 0 if the request concerns no pool, InstanceID 0 if it concerns no instance.
	PoolID, InstanceID int
	// Bought counts the nodes requested of the platform, Claimed the claims written.
	Bought, Claimed int
	Duration        time.Duration
	Err             error
}

// ClaimEnd describes one call for a claimant's node that ended.
type ClaimEnd struct {
	Claimant Claimant
	// NodePool is "" in an engine without pools. Region is "" where the platform chooses the region.
	NodePool, InstanceType, Region string
	Wait                           time.Duration
	// Err is nil if the claimant has its node; KindOf returns the outcome.
	Err error
}
