// Package belief records the facts about the platform, of the writes to it that are
// under way, and of those whose effect is not known. Events come in, facts come out. It is
// the only code that changes these records; package decide reads them.
//
// # What changes them
//
//	Merge      the end of an effect: a reading, or the answer to a write
//	Start      an action that was chosen; Unsent and Withdraw take it back
//	Reserve    the choice of a node for a claimant, until it is written or given up:
//	           Unreserve, Release, Quarantine
//	Witness    the caller's own records of who has which instance
//	At         the time; a node or purchase that is overdue follows from it
//
// A reading is merged by the same rules for all its readers: what it shows is believed at
// once, what it lacks is not. Only a direct read that began at least the settle time after
// the answer that it contradicts takes something away, and an own write outranks readings
// that began before that. A pool's count stands for the slots that were shown with it, so
// that the removal of another one leaves it as it is. Existence ends by proof alone ([Trace], [absence.Evidence]), and a removal
// that was sent condemns a node or pool for good: its phase only goes forward.
//
// # Where things are
//
//	merge.go             which rule a result is merged by, and what it means to callers
//	merge_instances.go   readings of instances, and the claims that they show
//	merge_pools.go       readings of pools, and the slots that they show
//	merge_writes.go      answers to own writes: purchases, claims, removals
//	contradiction.go     the points in which a reading of a pool contradicts the known facts
//	slots.go             the slots of a pool, and what readings show in them
//	start.go             actions that begin, and that are taken back
//	node.go, pool.go     the records of one object, with what follows from one alone
//	trace.go             the evidence of the existence of one object
//	phase.go             how far a node or pool is, and what may follow
//	world.go, table.go   all of them, and how they are found
//	purchases.go         purchases by key, unanswered purchases included
//	marks.go             claims that the API refuses, for all instances together
//	view.go              what follows from several records: free, quarantined, owned
//	reserve.go           nodes that are chosen for a claimant, and given up
//	witness.go           what the caller's own records show
//	trouble.go           why callers may wait in vain
//
// # What it may read and write
//
// It reads events, the settings, the time that [Belief.At] sets, and Config.Records. It
// never reads who waits: where that matters its callers pass the keys that are wanted. It
// returns no action and no answer. Exported fields are for reading: a test fails when
// another package assigns to one. It imports event, tagging and tuning, never callers or
// decide.
package belief
