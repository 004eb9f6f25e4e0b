// Package lkepool hands each claimant exactly one node of a pool, on a platform
// that only offers "make this pool larger": the node pools of the Linode
// Kubernetes Engine (LKE). A claim is a tag on the instance, so a process that
// starts anew rebuilds everything from the API.
//
// It is for controllers that need one machine per object, such as a Karpenter
// cloud provider, and needs no Kubernetes type. This package declares the types;
// claimants, errors and sweeps are those of module claims, and package allocator has
// the Allocator. The platform is a [Backend]: package lke has those of both tiers of
// LKE, package memory one for tests, and package pooltest the conformance suite for
// further ones.
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
// Readings may be out of date: those of one object by Config.SettleTime, lists
// by Config.ListLag. A reading adds at once what it shows. What it lacks it takes
// away only if it is a direct one that began the settle time after the answer that
// showed it. A write that was not answered with success may take effect for
// Config.LateEffect, after later writes and after its sender ended. Config.Records are
// complete when a process begins to lead, and outrank tags. Under these bounds,
// through restarts, lost answers, entries that lists lack, and wrong 404s that come
// in groups:
//
//   - No instance has two live claimants.
//   - No claimed instance is removed unless its claimant released it or
//     Sweep.Alive lacks it. A node goes by its name; no count is ever set below
//     what was read or written, whenever the write takes effect. A pool or an instance
//     with a write that was not answered is set aside until the write cannot take effect
//     any more: growth goes to another pool, and a claimant gets another instance. A pool
//     goes with its last node. An instance for which a removal was sent is not handed out
//     again: its tags say so before a free one is removed.
//   - A claimant gets no second instance while its first lives, and
//     purchases cover only what the claimants of a key lack: less what is free and on its
//     way, plus one for each node that was taken away, passed over because three
//     writes to it failed, or whose write was not answered. This is exact while lists lag
//     less than the settle time. Beyond that, and where a list lacks entries, a process
//     that takes over, and in each process a purchase after one whose answer was lost, may
//     add one surplus node for each claimant, which Collect removes. On Enterprise an
//     instance names its pool, which is then read directly if no list shows it.
//   - KindNotFound means that a removal was accepted and a later read was answered 404, or
//     that two reads were answered 404, SettleTime and ListLag apart, and a list between
//     them lacks the object. List contains a claimed instance until then. A later sight of
//     the object refutes the proof; what was removed is removed again then.
//   - After a process that may still write, claims are given back at once, and free nodes
//     are handed out at once. The pools that it made are neither made larger nor deleted for
//     LateEffect and SettleTime; missing nodes come in new pools.
//   - A read that fails delays. It causes no purchase before three in a row have failed
//     over two minutes.
//   - Only pools of this cluster that carry our tags, and their nodes, are ever
//     modified.
//   - A removal that is still without effect after a minute is sent again. A claim's tag
//     that is taken away, or names another claimant than Config.Records, is written again.
//   - After a Forbidden or Invalid answer to a claim's write no more is bought
//     than a node to try with, one claim at a time, after growing pauses.
//     Config.Ceilings bound all keys together; they count purchases without an answer, and
//     after a start nothing is bought under them until a list shows what there may be:
//     ListLag, and LateEffect longer after a process that may still write. Failed and Joined report whether
//     nodes of a key join; purchases for it wait longer with each that does not, by package pacing.
//   - A call returns when its context ends, with the reason if requests fail or
//     hang. No goroutine, timer or request is left after the last caller, but for
//     writes under way.
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
//     may lower a count, write over a claim, or exceed a ceiling. What is in Config.Records
//     keeps its instance in each case but that of a count.
//   - A claim that takes effect late, after its instance was given up or after its sender
//     ended, may stand in the tags of another claimant's instance until that is read, or
//     leave its claimant with a second instance, which Collect removes.
//   - A claim that a person copies onto an instance counts until Config.Records or this
//     process knows better; times in tags decide nothing.
//   - A claim's tag that a person removes before the process ends, and that Config.Records
//     does not have, is forgotten with the process: the node is free.
//   - An instance of which three reads in a row fail, over 2 minutes or longer,
//     is passed over: its claimant gets another one, unless Config.Records names it.
//   - A count that another client raises between the read and the write of a
//     purchase is set to what was wanted: LKE chooses which nodes go. These are
//     two requests in a row, on readings as old as stated above.
//   - A count that another client lowers is not raised again: the pool is set aside, and
//     missing nodes come in another one, as often as that happens.
//   - An accepted removal without effect, and then a wrong 404, prove together
//     that an instance is gone which is not.
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
