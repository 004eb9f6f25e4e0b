// Package lke lets the claim engine of package lkepool work on the node pools
// of one LKE cluster, of either tier.
//
// The tiers differ in how a pool's members are found. On Standard the pool's
// own node list names every node at once, and its instance as soon as there is
// one. On Enterprise new nodes are missing from that list for 30 to 60 seconds
// (Linode API facts: an Enterprise pool was created with nodes: []), but LKE
// tags the instances with lke<cluster> and nodepool=<pool>, so the list of
// instances shows which pool they are of.
//
// The list of instances is filtered by the server: by label on Standard (workers
// are called lke<cluster>-<node>), by tag on Enterprise. lke_cluster_id is no
// filter, and is compared afterwards. A Standard worker that was renamed is
// missing from the list; its pool's node list has its ID. A pool is created with
// a version on Enterprise, where the API requires one: if the key has none, the
// cluster is read for it first. Otherwise each method is one call of the client,
// which pages and repeats on its own.
//
// Errors. A refusal had no effect. An answer that cannot be read means that the
// write took effect. After a 5xx or without an answer the effect is unknown.
// A 404 is KindNotFound where it is about one instance or pool, and KindConflict
// where the cluster does not exist. Of a removal it is success. A removal that
// the API refuses (a locked pool, the last one of a Standard cluster) is
// KindConflict.
//
// The API gives no machine-readable reason for a refusal, so this package, and
// no other, reads the texts of refused purchases to distinguish a lack of
// capacity and a limit of the account from a mistake in the request: the texts of
// a 400 whose field is empty, type or count, and no others. Words that are not
// known make it KindInvalid.
//
// A method makes one request, with the exceptions above, and returns when its context ends. A write
// whose time (lkepool.SendBefore) has passed is not sent. The backend is safe for concurrent use and
// remembers nothing. Callers are package mode/lke of the operator, and the conformance suite pooltest.
//
// A pool has at most 100 nodes on Standard and 500 on Enterprise. A label's key has at most 63
// characters, with a prefix 128 of which 62 follow the slash; a value has at most 63. CheckLabel and
// CheckTaint return the reason for a refusal.
package lke
