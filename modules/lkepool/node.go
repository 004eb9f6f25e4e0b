package lkepool

import "github.com/karpenter-linode/karpenter-linode/modules/claims"

// Request describes the node that a claimant needs.
type Request struct {
	// Claimant gets the same node whenever it claims again.
	Claimant claims.Claimant
	Key      Key
	// PoolTags are identity tags. The pool gets them when it is created, and the
	// claimed instance gets them, too.
	PoolTags []string
	// Tags are the user's own tags. Only the instance gets them.
	Tags []string
}

// Node represents one instance of a pool, as the API showed it.
type Node struct {
	claims.Node
	// NodeID is the platform's name for the pool member; "" while the pool
	// does not list it.
	NodeID string
	// PoolID is 0 for an instance that its pool does not list any more.
	PoolID int
	// Template is the pool's present template. It differs from the template in the
	// key of the claim if another client edited the pool.
	Template
}

const (
	managedKey = "lke-managed"
	poolKey    = "pool-key"

	// ManagedTag is on every pool made here and on every claimed instance, unless
	// Config.Tags has another domain.
	ManagedTag = claims.DefaultDomain + "/" + managedKey + "=true"
)

// KeyPrefix returns the start of the tag of a pool's key, up to the hash.
func KeyPrefix(tags claims.Tags) string { return tags.Prefix(poolKey) }

// ManagedTagOf returns the tag that is on every pool made with these keys of tags,
// and on every claimed instance.
func ManagedTagOf(tags claims.Tags) string { return tags.Prefix(managedKey) + "true" }
