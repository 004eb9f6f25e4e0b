// Package lkepool hands each claimant exactly one node of a pool, on a platform
// that only offers "make this pool larger": the node pools of the Linode
// Kubernetes Engine (LKE). A claim is a tag on the instance, so a process that
// starts again rebuilds its whole state from the API.
//
// It is for controllers that need one machine per object, such as a Karpenter
// cloud provider, and needs no Kubernetes type. This package declares the types;
// claimants, errors and sweeps are types of module claims, and package allocator has
// the Allocator. The platform is a [Backend]: package lke has the backends of both
// tiers of LKE, package memory a backend for tests, and package pooltest the
// conformance suite for further backends.
//
// # Shape
//
// The engine is a state machine without goroutine, clock, I/O or context: it takes an
// event (a caller came, a request ended, time passed) and returns actions. It is package
// internal/core, whose documentation shows where each decision is made. Package allocator
// runs it: one loop, and at most 64 requests at the same time. Writes to one pool or
// instance do not overlap. A write rests on a reading that is valid for a short time: a
// write that waits for longer is dropped, and the engine decides again.
//
// # Guarantees
//
// Readings may be out of date: a direct reading of one object by Config.SettleTime, a
// list by Config.ListLag. A reading that shows more counts at once. A direct reading
// that shows less counts only if it began SettleTime after the answer that showed more,
// a list only if it began ListLag after that answer. Otherwise the engine reads the
// object. A write without a successful answer may take effect until Config.LateEffect
// after its failure, also after later writes and after its sender ended. Config.Records
// are complete when a process begins to lead, and outrank tags.
//
// These guarantees hold under these bounds, through restarts, lost answers, lists that
// lack entries, and wrong 404s that come in groups:
//
//   - No instance has two live claimants.
//   - A claimed instance is removed only if its claimant released it or Sweep.Alive lacks the
//     claimant. Nodes are removed by their node IDs, and the last node goes with its pool. No
//     count is ever set below a value that was read or written. A free instance gets a tag that
//     announces its removal before the removal is sent, and is never handed out again.
//   - A write without an answer sets its pool or instance aside until it cannot take effect any
//     more. Missing nodes come in another pool, and a claimant gets another instance.
//   - A claimant gets no second instance while its first one exists. Purchases cover the deficit
//     of a key: the claimants that wait, less the nodes that are free or on their way. The engine
//     buys a node again if the node was taken away, if it was passed over because three writes to
//     it failed, or if a write to it has no answer.
//   - Purchases are exact while lists lag less than the settle time. If lists lag more or lack
//     entries, a process that takes over may buy one surplus node for each claimant, and so may a
//     purchase after a lost answer. Collect removes the surplus. On Enterprise an instance names
//     its pool, and the engine reads the pool directly if no list shows it.
//   - KindNotFound is a proof. Either a removal was accepted, and a later read was answered 404.
//     Or two reads were answered 404, SettleTime and ListLag apart, and a list that began ListLag
//     after the first 404 lacks the object. List contains a claimed instance until then. A direct
//     read that shows the object later ends the proof, and so does a list that began ListLag
//     after the 404.
//   - After a process that may still write, claimants get their instances back at once. Free
//     nodes are handed out at once, after one read of their pool. The pools of that process are
//     neither made larger nor deleted for LateEffect and SettleTime; missing nodes come in new
//     pools.
//   - A failed read delays. It causes a purchase only after three failures in a row over two
//     minutes. At most two nodes are passed over for one claimant.
//   - Only pools of this cluster that have the tags of this engine, and their nodes, are ever
//     modified.
//   - A removal without effect is sent again after a minute. The engine writes a claim's tag
//     again if the tag was taken away, or names another claimant than Config.Records.
//   - After a Forbidden or Invalid answer to the write of a claim, the engine buys one node to
//     try with. It tries one claim at a time, after pauses that grow.
//   - Config.Ceilings bound the nodes of all keys together, and count purchases without an
//     answer. With ceilings nothing is bought for ListLag after a start. After a process that may
//     still write, nothing is bought for ListLag and LateEffect.
//   - Failed and Joined report whether nodes of a key join. Each failure in a row makes the next
//     purchase for the key wait longer (package pacing).
//   - A call returns when its context ends, with the reason if requests fail or hang. After the
//     last caller no goroutine, timer or request is left, except for writes under way.
//
// # Not guaranteed
//
//   - Two allocators that lead at once may claim and buy twice: the API has no preconditions.
//     Use leader election, and fence the old leader's writes.
//   - If Config.Records lack a claim when a process begins to lead, only the claim's tag
//     protects the instance. Of two instances with one claim the instance with the lower ID
//     counts.
//   - If direct reads are older than SettleTime, the engine may lower a count that another
//     client raised, or hand out an instance that an earlier process claimed. If lists are older
//     than ListLag, it may exceed a ceiling after a start, and buy a surplus because it does not
//     see pools. Writes that take effect later than LateEffect may lower a count, write over a
//     claim, or exceed a ceiling. A claimant in Config.Records keeps its instance in all these
//     cases, except when a count was lowered.
//   - The write of a claim may take effect late, after its claimant got another instance or
//     after its sender ended. The claim then stands in the tags of another claimant's instance
//     until a read shows it, or its claimant has a second instance, which Collect removes.
//   - A claim that a person copies onto an instance counts until Config.Records or a claim of
//     this process shows another owner. Times in tags decide nothing.
//   - If a person removes a claim's tag before the process ends, and Config.Records does not
//     have the claim, the next process treats the node as a free node.
//   - If three reads of an instance in a row fail, over 2 minutes or longer, the instance is
//     passed over: its claimant gets another instance, unless Config.Records names this one.
//   - If another client raises a count between the read and the write of a purchase, the write
//     sets the count that the engine wants, and LKE chooses which nodes go. The read and the
//     write are two requests in a row; the read may be as old as stated above.
//   - If another client lowers a count, the engine does not raise it again. The pool is set
//     aside, and missing nodes come in another pool, each time that this happens.
//   - An accepted removal without effect, followed by a wrong 404, is a wrong proof that the
//     instance is gone.
//   - If another client writes tags between a read and the following write of the engine, these
//     tags may be lost, except for claims.
//   - Nodes may never come. A node on its way counts for 4 times the slowest of the last 20
//     nodes of its instance type, at least 90 seconds, and 3 minutes before the first node was
//     measured. After that its claimants get KindInsufficientCapacity. Each process measures the
//     time anew. Collect removes the slots by their node IDs after Config.PendingTimeout; a slot
//     that the pool does not list stays.
//   - If three pools of a key were edited so that they do not fit the key, the key is a
//     KindConflict.
//   - The engine drains no node. Collect calls Sweep.Vacate before it removes a node.
//
// # What the tests show, and how far
//
// The tests play random lives of a cluster on the state machine, with every fault above together. They also
// search small worlds (two or three claimants, one key, one or two pools, one other process, at most two
// faults), the smaller worlds completely: every order of requests, every fate of each request, and every
// version that a reading may show within its bound. docs/claiming.md of the repository lists what the small
// worlds leave out: LKE Enterprise, edits, ceilings, wrong clocks, and more faults.
//
// # Cost
//
// A claim costs one write. It costs one read of the instance more while the
// process has led for less than 2 minutes, and if the process did not see the
// instance arrive. All claimants that wait share the other requests: two lists at
// first and every 2 minutes, a read of the pool before each purchase, the
// purchase, and looks for the nodes that were bought. A look is a read of each
// pool, or one list for all keys on Enterprise and where more than two pools wait.
// Claimants that arrive within half a second of each other share one purchase. 100
// claims at once cost at most 120 calls, 10 of them lists. List costs two lists,
// and Get one read. Release costs one write; releases of one moment share one read
// of the pool. Collect costs two lists, and a read and a write for each node.
//
// # Errors
//
// Errors are *claims.Error: callers branch on the Kind; Effect classifies what is known
// of the request's effect on the platform (none, applied, or unknown), and RetryAfter is
// how long to wait. KindProvisioning is no failure: repeat the call.
//
// # Concurrency and leading
//
// An Allocator is safe for concurrent use. New begins to lead. A standby process calls Begin when it is elected,
// with how the previous leader ended: Begin forgets what was seen, and keeps the callers. Nothing is bought,
// overwritten or removed until both lists were read SettleTime later. Ages are measured on Config.Clock, from when
// this process first saw an object. Durations are time.Duration, times UTC, IDs the API's.
package lkepool
