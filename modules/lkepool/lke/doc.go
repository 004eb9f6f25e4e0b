// Package lke lets the claim engine of package lkepool work on the node pools
// of one LKE cluster, of either tier.
//
// The tiers differ in how the engine finds the members of a pool. On Standard the pool's own node list
// names every node at once, and its instance as soon as the instance exists. On Enterprise new nodes are
// missing from that list for 30 to 60 seconds (Linode API facts: an Enterprise pool was created with
// nodes: []), but LKE tags the instances with lke<cluster> and nodepool=<pool>, so the list of instances
// shows to which pool each instance belongs.
//
// The server filters the list of instances: by label on Standard (workers are called
// lke<cluster>-<node>), by tag on Enterprise. The API has no filter for lke_cluster_id, so the backend
// compares it afterwards. A Standard worker that was renamed is missing from the list; its pool's node
// list has its ID. On Enterprise the API requires a version for a new pool: if the key has no version,
// Create reads the cluster first. Otherwise each method is one call of the client, which pages and
// repeats on its own.
//
// Errors. A refusal had no effect. An answer that cannot be read means that the write took effect. After
// a 5xx or without an answer the effect is unknown. A 404 is KindNotFound if it concerns one instance or
// pool, and KindConflict if the cluster does not exist. A removal that is answered 404 has succeeded. A
// removal that the API refuses (a locked pool, the last pool of a Standard cluster) is KindConflict.
//
// The API gives no machine-readable reason for a refusal. So the texts of refused purchases distinguish
// a lack of capacity and a limit of the account from a mistake in the request (package refusal of module
// linode). This package asks for it only for purchases that were refused with a 400 whose field is
// empty, type or count. A text that is not known makes the refusal KindInvalid.
//
// A method makes one request, with the exceptions above, and returns when its context ends. A write
// whose time (lkepool.SendBefore) has passed is not sent. The backend is safe for concurrent use and
// remembers nothing. Callers are package mode/lke of the operator, and the conformance suite pooltest.
//
// A pool has at most 100 nodes on Standard and 500 on Enterprise. A label's key has at most 63
// characters, with a prefix 128 of which 62 follow the slash; a value has at most 63. CheckLabel and
// CheckTaint return the reason for a refusal.
package lke
