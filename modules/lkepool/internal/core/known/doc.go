// Package known has the records of pools and instances, of the requests to the platform, and of the purchases for each key. Events come
// in, facts come out. It is the only code that changes these records: what package decide gets is a [View], whose nodes and pools have no
// exported field, so that the compiler holds that a decision changes nothing.
//
// # What changes a record
//
//	Merge    the end of a request: a reading, or the answer to a write
//	Start    an action that was chosen; it is followed by Merge
//	Give     an instance was the answer to its claimant
//
// What a reading changes in a record is decided by package record of module claims. This package adds what a reading of one
// object says of another: a pool lists instances, and an instance names its pool and its claimant.
//
// A new field of a pool or an instance that a decision rests on has to be compared in differ or differs: a list that differs in nothing
// that these compare changes no value. A fact that counts at once, and ends by a later reading alone, has a time of its own that is set
// after the merge, as the state Leaving is.
//
// # Where things are
//
//	known.go      all records together, and how they are found
//	node.go       an instance and its claim; pool.go a pool and what is on its way to it
//	request.go    requests under way, and the pauses after those that failed
//	merge.go      the end of a request; instances.go, pools.go, writes.go what it says
//	supply.go     what is on its way, for how long that counts, and when to look for it
//	purchases.go  purchases by key, and creations without an answer
//	view.go       questions
//	trouble.go    why callers may wait in vain
//
// It imports event, tagging and tuning, never callers or decide.
package known
