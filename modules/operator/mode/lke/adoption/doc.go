// Package adoption takes over, in place, the nodes that the alpha provider for Linode has made: its LKE pools, the Linodes in them, and
// their NodeClaims. No node is replaced and no pod moves.
//
// It is opt-in. Package cmd/controller starts it; it runs on the leader until nothing is left to take over. A pool is this provider's if
// it has a tag with the hash of the key that its nodes are made for. For each pool of the cluster that has the alpha provider's tags and
// lacks this tag, Adopter does two steps:
//
//	1   puts the tag of its NodeClaim and this provider's tags on each Linode. Other tags stay, but for the tag of a NodeClaim that is gone
//	2   gives the pool the labels and taints of its NodePool, and the tags of its key. Other labels of the pool stay. Other taints go:
//	    the alpha provider put startup taints there, which would count as drift
//
// A crash between the steps is harmless, because of their order: a pool is this provider's only when each of its claimed Linodes is known
// to be claimed. A repetition changes nothing.
//
// The alpha provider must not run any more. Its newest form of a tag is key=value, and older forms are key:value; both are known. A
// Linode in such a pool without a NodeClaim is then a free node of the pool, and is collected like any other.
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
