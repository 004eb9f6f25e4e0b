// Package lkepool hands each claimant exactly one node of a pool, on a platform
// that only knows "make this pool larger": the node pools of the Linode
// Kubernetes Engine (LKE). It takes a free node of the right pool if there is
// one; otherwise it enlarges the pool by exactly what is missing and takes what
// appears. The claim is a tag on the instance, so a restarted process rebuilds
// everything from the API.
//
// It is for controllers that need one machine per object, such as a Karpenter
// cloud provider. It knows no Kubernetes type. The platform is a [Backend];
// package lke has those for both tiers of LKE, package memory one for tests, and
// package pooltest the conformance suite for further ones.
//
// # Guarantees
//
//   - No instance is handed to two claimants, and no claimant gets two.
//   - No more nodes are asked for than are needed: the claimants of a key that
//     exist and hold no instance, less the places of its pools that nobody has
//     claimed, arrived or on their way, whoever asked for them. So a burst of n
//     claimants makes the platform add n nodes, and over time there is one more
//     for each that the platform or a person took from a claimant before it was
//     told of it, and for each orphan that was released and is wanted again; one
//     less for each that somebody else supplied. Delays, restarts and lost
//     answers, that of a pool's creation among them, change nothing about it.
//   - A claimant is told that there is no capacity only when the platform refused
//     it, or when what it promised did not come within Config.PendingTimeout.
//     What the account's limit has room for is had: LKE refuses as a whole what
//     does not fit, so half of it is asked for, until not even one more fits.
//   - A claimant that asks again gets the node that it has.
//   - A node is removed by name. No count is ever lowered by number, and no
//     instance deleted behind its pool's back. A pool goes with its last node.
//   - KindNotFound is returned on a 404 for that very instance, on nothing else.
//   - Only pools of this cluster that carry our tags, and their nodes, are ever
//     modified.
//   - The end of a caller's context ends that caller's wait at once, and nobody
//     else's. Nothing sleeps outside of a context, and no lock is held while
//     capacity is awaited.
//
// # Not guaranteed
//
//   - Two allocators for one cluster at the same time, as without leader
//     election, may scale or claim twice: the API has no preconditions.
//   - A list may lag behind writes by up to Config.TagVerificationTimeout; if it
//     lags longer, a restart within that time may scale again. The surplus is
//     collected as an orphan.
//   - The API has no preconditions. Places that somebody else supplies, by a
//     raised count or by replacing a claimed node, after the reading that a
//     purchase is decided on began, or less than TagVerificationTimeout before,
//     are not counted, unless the lists of pools and instances contradict each
//     other for it, which is waited out; what is then too many is collected. A
//     count that somebody changes between the engine's last read of the pool and
//     its write is set to what the engine wanted: a place taken away is asked for
//     again, and of places added as many go again, LKE choosing which. Each
//     purchase is decided on a full reading and checked against the pool itself,
//     so these moments are as long as two requests take.
//   - A claim tag that somebody removes by hand is remembered only until the
//     process ends; then the node is free.
//   - Tags that somebody else changes between a read and the write that follows
//     it may be lost, except for claims, which only the allocator writes.
//   - Two instances with one claim, which only a second allocator or a person can
//     bring about: Claim gives back the one that this process handed out, or else
//     the one claimed later, or else the lower ID; Collect releases the other.
//   - Nodes that never come: after Config.PendingTimeout claimants are told
//     KindInsufficientCapacity, and Collect removes the places by name. A place
//     that the pool does not list cannot be named, and stays.
//   - Pools edited by hand: a changed count is taken as it is, and what is free
//     is used or collected. A count that somebody lowers three times within ten
//     minutes while more nodes are needed is not raised again: KindConflict. A
//     pool whose labels, taints, firewall or version do not fit its key any more,
//     or whose autoscaler was switched on, keeps its nodes and gets no new
//     claimants; nothing is changed back. After three such pools of one key,
//     Claim returns KindConflict.
//   - Nothing is drained. Whoever releases a node drains it before; Collect asks
//     Sweep.Vacate about each node first.
//
// # Cost
//
// A claim costs one write, the tag. What comes on top is shared by all who wait
// for the same key: two lists at first, one write to scale, and up to ten reads
// while capacity is on its way: single reads on Standard, lists on Enterprise.
// Keys that wait at the same time share most of these reads: 40 keys have been
// seen to need up to 150 lists a minute while their nodes arrive.
// List is two lists, Collect the same and one read per node that it removes.
//
// Durations are time.Duration, times are UTC, IDs are the API's. Errors are
// *[Error]. An [Allocator] is safe for concurrent use; it starts goroutines only
// while somebody waits.
package lkepool
