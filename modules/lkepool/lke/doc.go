// Package lke lets the claim engine of package lkepool work on the node pools
// of one LKE cluster, of either tier.
//
// The tiers differ in how a pool's members are found. On Standard the pool's
// own node list names every node at once, and its instance as soon as there is
// one. On Enterprise new nodes are missing from that list for 30 to 60 seconds
// (Linode API facts: an Enterprise pool was created with nodes: []), but LKE
// tags the instances with lke<cluster> and nodepool=<pool>, so the instances
// themselves tell.
//
// The list of instances is filtered by the server: by label on Standard (workers are called lke<cluster>-<node>), by
// tag on Enterprise. lke_cluster_id is no filter, and is compared afterwards.
// Instances are never read one by one to find out about many.
//
// The API gives no machine-readable reason for a refusal, so this package, and
// no other, reads the texts of refused scale-ups to tell a lack of capacity and
// a limit of the account from a mistake in the request.
package lke
