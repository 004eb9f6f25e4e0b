package claims

import "context"

// Sweep configures Collect, the removal of nodes that nothing needs.
type Sweep struct {
	// Alive returns all claimants that exist. It is called after the nodes were
	// read, and must itself read without a cache. An error ends the sweep before
	// anything is removed.
	Alive func(ctx context.Context) ([]Claimant, error)
	// Vacate reports whether a node may be removed now, and may start what lets a
	// later sweep remove it, such as a drain. On false or an error the node stays
	// until the next sweep; other nodes do not wait for it. It is called
	// concurrently, at most once for a node in one sweep. A node may be given to a
	// claimant before and while Vacate runs. Nil lets every node be removed.
	Vacate func(ctx context.Context, node Node) (bool, error)
}

// Collected reports what a sweep removed and found.
type Collected struct {
	// Removed contains the nodes whose removal the platform accepted.
	Removed []Node
	// Slots contains the IDs of removed places in pools that had no instance.
	Slots []string
	// Pools contains the IDs of deleted pools.
	Pools []string
	// Unclaimed contains instances that have the tag of the cluster and no claim.
	// They are left alone: a user removed the claim, or added the cluster's tag.
	Unclaimed []Node
}
