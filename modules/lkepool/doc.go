// Package lkepool hands each claimant exactly one node of a pool, on a platform
// that only offers "make this pool larger": the node pools of the Linode
// Kubernetes Engine (LKE). A claim is a tag on the instance, so a process that
// starts anew rebuilds everything from the API.
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
// The engine is a state machine without goroutine, clock, I/O or context: it
// takes an event (a caller came, an effect ended, time passed) and returns
// actions. It is package internal/core, whose documentation shows where each
// decision is made. Package allocator runs it: one loop, and at most 64 requests at the
// same time. Writes to one pool or instance do not overlap, and a write that waits for
// longer than what it rests on is valid is dropped and decided again.
//
// # Guarantees
//
// Readings may be out of date: a direct reading of one object by Config.SettleTime,
// a list by Config.ListLag. A reading that shows more counts at once. A reading that
// shows less counts only if it is a direct reading that began the settle time after
// the answer that showed more. A write without a successful answer may take effect for
// Config.LateEffect, after later writes and after its sender ended. Config.Records are
// complete when a process begins to lead, and outrank tags.
//
// These guarantees hold under these bounds, through restarts, lost answers, lists that
// lack entries, and wrong 404s that come in groups:
//
//   - No instance has two live claimants.
//   - A claimed instance is removed only if its claimant released it or Sweep.Alive lacks the
//     claimant. Nodes are removed by name, and a pool goes with its last node. No count is
//     ever set below a value that was read or written. A free instance gets a tag that
//     announces its removal before the removal is sent, and is never handed out again.
//   - A write without an answer sets its pool or instance aside until it cannot take effect
//     any more: growth goes to another pool, and a claimant gets another instance.
//   - A claimant gets no second instance while its first one exists. Purchases cover what the
//     claimants of a key lack: the claimants that wait, less the nodes that are free or on
//     their way. A node that was taken away, was passed over because three writes to it
//     failed, or whose write has no answer is bought again. This is exact while lists lag less
//     than the settle time. If lists lag more or lack entries, a process that takes over, and a
//     purchase after a lost answer, may add one surplus node for each claimant, which Collect
//     removes. On Enterprise an instance names its pool, which is read directly if no list
//     shows it.
//   - KindNotFound is a proof. Either a removal was accepted, and a later read was answered
//     404; or two reads were answered 404, SettleTime and ListLag apart, and a list between
//     them lacks the object. List contains a claimed instance until then. A direct read that
//     shows the object later ends the proof, and so does a list that began ListLag later.
//   - After a process that may still write, claims are given back at once, and free nodes are
//     handed out at once, each pool after one read of it. The pools of that process are neither
//     made larger nor deleted for LateEffect and SettleTime; missing nodes come in new pools.
//   - A failed read delays. It causes a purchase only after three failures in a row over two
//     minutes. At most two nodes are passed over for one claimant.
//   - Only pools of this cluster that carry our tags, and their nodes, are ever modified.
//   - A removal without effect is sent again after a minute. A claim's tag that was taken
//     away, or that names another claimant than Config.Records, is written again.
//   - After a Forbidden or Invalid answer to the write of a claim, one node is bought to try
//     with, one claim at a time, after growing pauses.
//   - Config.Ceilings bound all keys together, and count purchases without an answer. After a
//     start nothing is bought under them for ListLag, and for LateEffect more after a process
//     that may still write.
//   - Failed and Joined report whether nodes of a key join. Each failure in a row makes the
//     next purchase for the key wait longer (package pacing).
//   - A call returns when its context ends, with the reason if requests fail or hang. After the
//     last caller no goroutine, timer or request is left, except for writes under way.
//
// # Not guaranteed
//
//   - Two allocators that lead at once may claim and buy twice: the API has no
//     preconditions. Use leader election, and fence the old leader's writes.
//   - Records that lack a claim when a process begins: the claim's tag alone protects the
//     instance then, and of two instances with one claim the lower ID counts.
//   - Direct reads older than SettleTime may lower a count that another client raised,
//     or hand out an instance that an earlier process claimed. Lists
//     older than ListLag may exceed a ceiling after a start, and hide
//     pools, so that a surplus is bought. Writes that take effect later than LateEffect
//     may lower a count, write over a claim, or exceed a ceiling. A claimant in Config.Records
//     keeps its instance in all these cases, except when a count was lowered.
//   - A claim may take effect late, after its claimant got another instance or after its
//     sender ended. It then stands in the tags of another claimant's instance until a read
//     shows it, or leaves its claimant with a second instance, which Collect removes.
//   - A claim that a person copies onto an instance counts until Config.Records or a claim
//     of this process shows another owner; times in tags decide nothing.
//   - If a person removes a claim's tag before the process ends, and Config.Records does not
//     have the claim, the next process takes the node for free.
//   - An instance of which three reads in a row fail, over 2 minutes or longer,
//     is passed over: its claimant gets another one, unless Config.Records names it.
//   - A count that another client raises between the read and the write of a
//     purchase is set to what was wanted: LKE chooses which nodes go. These are
//     two requests in a row, on readings as old as stated above.
//   - A count that another client lowers is not raised again: the pool is set aside, and
//     missing nodes come in another one, as often as that happens.
//   - An accepted removal without effect, followed by a wrong 404, is a wrong proof that
//     the instance is gone.
//   - Tags that another client writes between a read and the write that follows
//     may be lost, except for claims.
//   - Nodes that never come: a node on its way counts for 4 times the slowest of the last
//     20 nodes of its instance type, 90 seconds at least, 3 minutes before one was measured.
//     After that its claimants get KindInsufficientCapacity. The time begins anew with each
//     process. Collect removes the slots by name after Config.PendingTimeout; a slot
//     that the pool does not list stays. A key of which three pools were edited so that
//     they do not fit it is a KindConflict.
//   - Nothing is drained. Collect calls Sweep.Vacate before a node goes.
//
// # What the tests show, and how far
//
// Random lives on the state machine have every fault above together. Small worlds (two
// claimants or three, one key, one pool or two, one other process, two faults at most) are
// searched, the smaller ones completely: every order of requests, every fate of each, and every version that
// a reading may show within its bound. docs/claiming.md of the repository lists what they leave out: LKE
// Enterprise, edits, ceilings, wrong clocks, and more faults.
//
// # Cost
//
// A claim costs one write; while the process has led for less than 2 minutes, or
// where an instance was not seen to arrive, also one read of it. Shared by all
// who wait: two lists at first and every 2 minutes, a read of the pool before
// each purchase, the purchase, and looks for what was bought: reads of the pool,
// or one list for all keys on Enterprise and where more than two pools wait.
// Claimants that arrive within half a second of each other are one purchase.
// 100 claims at once cost at most 120 calls, 10 of them lists. List is two
// lists, Get one read, Release one read of the pool for all of a moment and one
// write each, Collect two lists, and a read and a write for each node.
//
// # Errors
//
// Errors are *claims.Error: callers branch on the Kind; Effect classifies what is known
// of the request's effect on the platform (none, applied, or unknown), and RetryAfter is
// how long to wait. KindProvisioning is no failure: repeat the call.
//
// # Concurrency and leading
//
// An Allocator is safe for concurrent use. New begins to lead; a process that
// stood by calls Begin when it is elected, which forgets what was seen and keeps
// the callers, with how the process before ended. Until both lists were read, SettleTime later, nothing is bought,
// overwritten or removed. Ages are measured on Config.Clock, from when this
// process first saw an object. Durations are time.Duration, times UTC, IDs the
// API's.
package lkepool
