// Package adoption takes over, in place, the nodes that the alpha provider for Linode has made: its LKE pools, the Linodes
// in them and the NodeClaims that they belong to. No node is replaced and no pod is moved.
//
// It is opt-in and called by cmd/controller, where it runs on the leader until nothing is left to take over. What makes a
// pool this provider's is a tag with the hash of the key that its nodes are made for. For each pool of the cluster that
// has the alpha provider's tags and not this one, Adopter
//
//  1. puts each Linode's NodeClaim and this provider's tags on it, beside the tags that it has;
//  2. then gives the pool the labels and taints of its NodePool (the alpha provider put startup taints there
//     too, which would count as drift), and the tags of its key.
//
// The order makes a crash in between harmless: a pool is this provider's only when each of its claimed Linodes
// is known to be claimed. Repeating it changes nothing.
//
// The alpha provider must not run any more. Its tags are key=value in its newest form, key:value in older ones; both are
// known. A Linode in such a pool that no NodeClaim has is a free node of the pool afterwards, and is collected like any
// other.
//
// Not adopted, and named in the log and by an event on the NodeClaim: a pool that no NodeClaim has a node of, one that
// LKE's own autoscaler scales, one with nodes of several NodePools, and one whose NodePool or LinodeNodeClass does not
// exist or is not Ready.
package adoption
