// Package adoption takes over, in place, the nodes that the alpha provider for Linode has made: its LKE pools, the Linodes in them, and
// their NodeClaims. No node is replaced and no pod moves.
//
// It is opt-in. Package cmd/controller starts it; it runs on the leader until no pool is left to take over. A pool belongs to this
// provider if it has a tag with the hash of its nodes' key. For each pool of the cluster that has the alpha provider's tags and lacks
// this tag, Adopter does two steps:
//
//	1   puts the tag of its NodeClaim and this provider's tags on each Linode. Other tags stay, but for the tag of a NodeClaim that is gone
//	2   gives the pool the labels and taints of its NodePool, and the tags of its key. Other labels of the pool stay. Other taints go:
//	    the alpha provider put startup taints there, which would count as drift
//
// A crash between the steps is harmless because of their order: when a pool becomes this provider's, each of its claimed Linodes already
// has the tag of its claim. A repetition changes nothing.
//
// The alpha provider must not run any more. It has written tags as key=value, and its older versions as key:value; Adopter knows both
// forms. A Linode without a NodeClaim becomes a free node of the adopted pool, and is collected like any free node.
//
// A pool is not adopted in these cases. The log and an event on the NodeClaim name the reason:
//
//   - No NodeClaim has a node of the pool.
//   - LKE's own autoscaler scales the pool.
//   - The pool has nodes of several NodePools.
//   - A node of the pool has no Linode yet; the next attempt may adopt it.
//   - Its NodePool or LinodeNodeClass does not exist, or the class is not Ready.
//
// It tries again after 2 seconds, then after pauses that grow to 5 minutes. Events are Adopted and NotAdopted on the NodeClaim.
package adoption
